"""One object for each kind of task: everything that differs between classifying, tagging, translating and so on."""
