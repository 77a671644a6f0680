"""Results in sentences, for the terminal and the page: every claim with its wording; no module here sees a model."""
