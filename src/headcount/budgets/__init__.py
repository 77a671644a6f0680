"""Smaller models to a budget: which heads and feed-forward units stay, and what held-out examples say about it."""
