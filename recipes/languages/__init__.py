"""Heads and fixed offsets in the treebanks of several languages."""
