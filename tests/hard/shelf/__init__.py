"""What the rows need, by name: models, tables and studies, whole and damaged."""

from tests.hard.shelf import data, models, rankings, studies
from tests.hard.shelf.base import Shelf

__all__ = ["Shelf", "data", "models", "rankings", "studies"]
