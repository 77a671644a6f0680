"""Does Headcount work here: versions, devices, and its promises on the user's own model."""
