"""Maps of single texts, packed; typical maps of patterns."""
