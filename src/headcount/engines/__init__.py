"""Where work runs and how it is recorded: runs, the sinks that keep their arrays, the executors of their units."""
