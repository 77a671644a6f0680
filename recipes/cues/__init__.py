"""Is a model right for the right reason? Niven and Kao's experiment, and the cues of NLI hypotheses."""
