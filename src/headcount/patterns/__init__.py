"""The shape of attention maps in numbers, and the names of shapes."""
