"""Heads against coreference."""
