"""The list of attacks is complete: a test runs each of them, and the documentation names what stops it."""

import importlib
from pathlib import Path

from attacks.catalogue import ATTACKS, OUT, PAGE, filled

HERE = Path(__file__).parent


def marked() -> set[str]:
    """Return the attacks that tests are marked with."""
    ids: set[str] = set()
    for path in HERE.glob("test_*.py"):
        module = importlib.import_module(f"attacks.{path.stem}")
        for thing in vars(module).values():
            for mark in getattr(thing, "pytestmark", []):
                ids |= set(mark.args) if mark.name == "attack" else set()
    return ids


def test_every_attack_is_run_by_a_test_and_every_test_is_of_an_attack() -> None:
    # Those of OUT are the parameters of one test.
    assert marked() | {attack.id for attack in OUT} == {attack.id for attack in ATTACKS}


def test_every_attack_has_an_id_of_its_own_and_says_what_stops_it_or_what_happens() -> None:
    assert len({attack.id for attack in ATTACKS}) == len(ATTACKS)
    for one in ATTACKS:
        assert one.tries, one.id
        assert bool(one.open_in) == bool(one.measured), one.id
        assert one.defence.name or one.open_in, one.id


def test_the_page_carries_the_tables_as_they_are() -> None:
    """Write them with `python tests/attacks/catalogue.py --write`."""
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page) == page
    for one in ATTACKS:
        assert f"`{one.id}`" in page
