"""Fine-tuning and initialisation: where the patterns of heads come from."""
