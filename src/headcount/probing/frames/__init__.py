"""Heads against frame-semantic links."""
