"""Attention maps of single texts, packed, and typical maps of patterns."""
