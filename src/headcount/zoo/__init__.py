"""The bundled BERT and texts, made for this project, to try Headcount offline."""
