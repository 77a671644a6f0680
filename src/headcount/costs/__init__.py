"""Parameters, operations, memory, time; export."""
