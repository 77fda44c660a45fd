"""docs/reference/bus.md describes the messages that messages.py defines, field by field."""

import ast
import inspect
import re
from dataclasses import fields
from types import ModuleType

import pytest

from fanlight.host.bus import messages, peers, redis, workers
from fanlight.host.bus.messages import WorkerMessage
from support.docs import ROOT

PAGE = (ROOT / "docs" / "reference" / "bus.md").read_text(encoding="utf-8")
ABOUT_REQUESTS = {"Response", "RequestProgress", "RequestCancelled"}


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def documented(title: str) -> dict[str, list[str]]:
    """Return the fields of each type in the table of a section."""
    found: dict[str, list[str]] = {}
    kind = ""
    for name, field in re.findall(r"^\| (?:`(\w+)`)? ?\| (?:`(\w+)`)? ?\|", section(title), re.MULTILINE):
        kind = name or kind
        found.setdefault(kind, []).extend([field] if field else [])
    return found


def defined(names: set[str]) -> dict[str, list[str]]:
    return {name: [field.name for field in fields(getattr(messages, name))] for name in names}


def handled(method: str) -> set[str]:
    """Return the messages that a method of `PeerRequests` has a case for."""
    tree = ast.parse(inspect.getsource(peers))
    (found,) = [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef) and node.name == method]
    patterns = [node.cls for node in ast.walk(found) if isinstance(node, ast.MatchClass)]
    return {pattern.attr for pattern in patterns if isinstance(pattern, ast.Attribute)}


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Notifications", handled("notify")),
        ("Requests", handled("serve")),
        ("About requests", ABOUT_REQUESTS),
    ],
)
def test_the_table_has_every_message_with_its_fields(title: str, names: set[str]) -> None:
    assert documented(title) == defined(names)


def test_no_message_is_left_out() -> None:
    kinds = {kind.__name__ for kind in WorkerMessage.__args__}
    assert handled("notify") | handled("serve") | ABOUT_REQUESTS == kinds
    assert set(re.findall(r"^\| `(\w+)` \| \|", PAGE, re.MULTILINE)) == kinds


def test_the_envelope_is_that_of_the_code() -> None:
    """Goes red if a field of the envelope is added without a row."""
    written = set(re.findall(r'"(\w+)": (?:id|self\.id|is_request|body)\b', source(workers)))
    written |= set(re.findall(r'envelope\["(\w+)"\] = ', source(workers)))
    assert set(re.findall(r"^\| `(\w+)` \| \S", section("The envelope"), re.MULTILINE)) == written | {"payload"}


def test_the_keys_and_numbers_are_those_of_the_code() -> None:
    bus = redis.RedisBus("redis://localhost")
    assert f"`{bus._leases}`" in PAGE
    assert f"`{bus._stream('ID')}`" in PAGE
    assert f"{redis._MAX_MESSAGES:,}" in PAGE
    assert "`fanlight:bus:owner:HASH`" in PAGE
    assert 'f"{self._prefix}:owner:{digest}"' in source(redis)
    assert workers._PAYLOAD_SECONDS == 120


def source(module: ModuleType) -> str:
    return inspect.getsource(module)
