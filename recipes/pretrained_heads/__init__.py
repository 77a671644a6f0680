"""What heads look at before any fine-tuning: Clark's figures, and the links between words."""
