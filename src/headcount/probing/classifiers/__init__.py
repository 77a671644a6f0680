"""Classifiers that predict the syntactic head of each word from attention, word vectors or distances."""
