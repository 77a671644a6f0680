"""From texts and tasks to batches: tables, tasks, examples, encodings, batches, metrics."""
