"""One object for each kind of task, with everything that differs between classification, translation and so on."""
