"""The models and texts of the measures' tests."""

from tests.measures.conftest import *  # noqa: F403
