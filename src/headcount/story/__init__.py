"""Results into sentences: every claim with its wording, for the terminal and the page; it never sees a model."""
