"""The bundled model and texts: what a newcomer needs offline."""
