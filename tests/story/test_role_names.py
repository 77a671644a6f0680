"""Does each role have a colour of its own, and does every measure name known roles?"""

from __future__ import annotations

from headcount.measures.catalogue import MEASURES
from headcount.story.role_names import BROAD, COLOURS, NO_ROLE, colours_of, current_name


def test_every_role_of_a_measure_has_a_colour() -> None:
    roles = {schema.role for measure in MEASURES.values() for schema in measure.schemas.values() if schema.role}
    assert roles == set(COLOURS)
    assert NO_ROLE not in COLOURS


def test_colours_do_not_depend_on_what_else_there_is() -> None:
    assert colours_of(["the token itself"]) == colours_of(["next token", "the token itself"])[1:]
    assert len(set(colours_of([*COLOURS, "mine", "yours"]))) == len(COLOURS) + 2


def test_earlier_names() -> None:
    assert current_name("everything alike") == BROAD
    assert current_name("mine") == "mine"
