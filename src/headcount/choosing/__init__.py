"""Which heads can go: importance, gates, orders, curves, the choice."""
