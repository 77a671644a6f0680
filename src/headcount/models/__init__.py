"""The only room that knows architectures: loading, anatomy, families."""
