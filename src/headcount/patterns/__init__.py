"""The shape of attention maps, and its name."""
