"""How many heads can go? The curves of two papers for models of today."""
