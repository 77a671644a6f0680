"""Results into one offline page and into figures; it never sees a model, so any saved study renders without torch."""
