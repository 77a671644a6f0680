"""Labelled attention maps, and the rule that names the pattern of any map."""
