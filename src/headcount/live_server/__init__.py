"""Trying heads on and off while typing: a server on this machine, for one model."""
