"""The best set of heads and feed-forward units that keeps to a budget."""
