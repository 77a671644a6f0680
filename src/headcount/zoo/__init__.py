"""The bundled BERT and texts, made for this project: what a newcomer needs offline."""
