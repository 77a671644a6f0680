"""Texts made for a purpose: random tokens repeated, a fact in a haystack, two names of which one is due."""
