"""How many heads can a language model lose? Perplexity, speed and cache by head and by key/value group."""
