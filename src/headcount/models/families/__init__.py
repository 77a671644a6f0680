"""One record per architecture: regular families in one table, each irregular one in a file of its own."""
