"""The bundled texts, made for this project: what a newcomer needs offline. A bundled model will join them."""
