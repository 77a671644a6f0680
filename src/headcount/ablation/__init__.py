"""What happens without heads: replacements of their attention, and sweeps over all of them."""
