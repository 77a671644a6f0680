"""Which head or rule is best, selected on one half of the texts and evaluated on the other."""
