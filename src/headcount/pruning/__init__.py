"""Heads really gone: the cut, its verification, recovery by fine-tuning."""
