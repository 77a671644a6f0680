"""One head of a study in sentences: each file answers one question about it."""
