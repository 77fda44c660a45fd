"""docs/reference/host.md names all that is public, so that nobody has to read the source to use it."""

import dataclasses
import inspect
import re
from typing import Any

import pytest

import fanlight.host
from fanlight.host import Host, Rules
from support.docs import ROOT

PAGE = (ROOT / "docs" / "reference" / "host.md").read_text(encoding="utf-8")
POLICY = (ROOT / "docs" / "how-to" / "write-a-policy.md").read_text(encoding="utf-8")
ELSEWHERE = {"Policy", "Rules"}


def words(text: str) -> set[str]:
    """Return the words that stand in code."""
    return {word for code in re.findall(r"(?<!`)`([^`\n]+)`", text) for word in re.findall(r"\w+", code)}


def section(name: str) -> str:
    found = re.search(rf"^##+ `?{name}`?\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return "" if found is None else found[1]


def members(kind: Any) -> set[str]:
    """Return the public fields, and for what is not data, the public methods."""
    names = set(getattr(kind, "_fields", ()))
    if dataclasses.is_dataclass(kind):
        names |= {field.name for field in dataclasses.fields(kind)}
        names |= {name for name, own in vars(kind).items() if isinstance(own, property)}
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("name", fanlight.host.__all__)
def test_the_reference_names_everything_that_can_be_imported(name: str) -> None:
    assert name in words(PAGE)


DATA = [name for name in fanlight.host.__all__ if members(getattr(fanlight.host, name)) and name not in ELSEWHERE]


@pytest.mark.parametrize("name", [name for name in DATA if name not in ("Allow", "Ask", "Deny")])
def test_the_reference_names_every_field(name: str) -> None:
    assert members(getattr(fanlight.host, name)) - words(section(name)) == set()


def test_the_reference_names_every_method_of_a_store_and_every_part_of_a_call() -> None:
    methods = {name for name, own in vars(fanlight.host.Store).items() if callable(own) and not name.startswith("_")}
    assert methods - words(section("Store")) == set()
    call = fanlight.host.Call(Host({}), "server", "tool")
    assert {name for name in dir(call) if not name.startswith("_")} - words(section("Call")) - {"is_due"} == set()


OWN_PARTS = {"cancel_call", "lifetime", "open", "run_call", "show_partial", "violated", "watch_pauses"}
"""What the host's own parts, such as `Call` and the web, ask of it."""


def test_the_reference_names_every_argument_and_method_of_a_host() -> None:
    methods = {name for name in dir(Host) if not name.startswith("_")}
    assert set(inspect.signature(Host).parameters) - words(PAGE) == set()
    assert methods - OWN_PARTS - words(PAGE) == set()


def test_timeouts_and_limits_are_as_the_reference_says() -> None:
    for kind, heading in ((fanlight.host.Timeouts, "Timeouts"), (fanlight.host.Limits, "Limits")):
        rows = re.findall(r"^\| `(\w+)` \| ([0-9 ]+)", section(heading), re.MULTILINE)
        told = {name: float(value.replace(" ", "")) for name, value in rows}
        assert told == dataclasses.asdict(kind())


def test_every_rule_has_a_place_in_the_page_about_policies() -> None:
    rules = {field.name for field in dataclasses.fields(Rules)}
    assert {rule for rule in rules if not re.search(rf"\b{rule}\b", POLICY)} == set()
