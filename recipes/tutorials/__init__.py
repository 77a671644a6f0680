"""The notebooks of docs/tutorials: executed, and stored with what their cells give."""
