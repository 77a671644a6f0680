"""Where work runs and how it is recorded: runs, sinks for their arrays, executors for their units."""
