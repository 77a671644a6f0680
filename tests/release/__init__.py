"""Checks before a release, which install packages and are no part of the suite: `make release-check`, `make test-matrix`."""
