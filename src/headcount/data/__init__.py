"""Texts and tasks into batches: tables, tasks, examples, encodings, batches, metrics."""
