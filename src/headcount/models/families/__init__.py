"""How each architecture names its attention: regular families in one table, irregular ones a file each."""
