"""Checks before a release, which install packages: `make release-check` and `make test-matrix`."""
