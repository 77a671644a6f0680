"""Attention between words, and what a kind of annotations is."""
