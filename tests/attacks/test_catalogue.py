"""The list of attacks is complete: a test runs each of them, and the documentation names what stops it."""

import importlib
from pathlib import Path

from attacks.catalogue import ATTACKS, EXFILTRATION, PAGE, filled

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


def test_attacks_and_tests_match() -> None:
    # Those of EXFILTRATION are the parameters of one test.
    assert marked() | {attack.id for attack in EXFILTRATION} == {attack.id for attack in ATTACKS}


def test_attacks_have_unique_ids_and_a_defence_or_measurement() -> None:
    assert len({attack.id for attack in ATTACKS}) == len(ATTACKS)
    for one in ATTACKS:
        assert one.tries, one.id
        assert bool(one.open_in) == bool(one.measured), one.id
        assert one.defence.name or one.open_in, one.id


def test_the_documented_tables_are_up_to_date() -> None:
    """Write them with `python tests/attacks/catalogue.py --write`."""
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page) == page
    for one in ATTACKS:
        assert f"`{one.id}`" in page
