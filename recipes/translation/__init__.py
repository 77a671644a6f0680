"""A small German-English translation model with checkpoints along the way: the material of Michel's Figure 5."""
