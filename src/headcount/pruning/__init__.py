"""Which heads can go, and a model without them: the cut, its check, its cost."""
