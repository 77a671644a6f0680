"""Documents in which mentions of the same entity are marked: CoNLL-2012, LitBank, GAP."""
