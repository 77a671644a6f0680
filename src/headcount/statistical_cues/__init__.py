"""Statistical cues: words that give the label away, what they are worth alone, and data in which they are balanced."""
