"""What heads look at: one question a file, each answered by a streaming reduction to [layer, head]."""
