"""Where work runs: this process, or a shard of it."""
