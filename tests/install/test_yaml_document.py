"""YAML, edited as text."""

from typing import Any

import pytest
import yaml

from fanlight.install.errors import DocumentError
from fanlight.install.yaml_document import YamlDocument

ENTRY: dict[str, Any] = {
    "cmd": "C:\\Program Files\\Python\\python.exe",
    "args": ["C:\\my apps\\server.py", "yes", "1"],
    "envs": {"K": "ä: \"b\" # 'c'"},
    "enabled": True,
    "description": "",
}
PATH = ("extensions", "clock")
COMMENTED = """\
# Goose of the team
GOOSE_MODEL: 'gpt'   # quoted
extensions:   # those that I use
  developer:
    enabled: true # always
    args:
    - a
    - "b"
    # after the arguments
  # the last one

# top
GOOSE_MODE: auto
"""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing yet\n",
        "---\nA: 1\n",
        "A: 1",
        "extensions:\n",
        "extensions: {}\nA: 1\n",
        "extensions: null # none\nA: 1\n",
        "extensions: {other: {cmd: x}}\n",
        "extensions:\n    other:\n        text: |\n            a\n\n            b\n",
        "A: 1\r\nextensions:\r\n  other:\r\n    cmd: x\r\nB: 2\r\n",
        COMMENTED,
    ],
)
def test_an_added_member_can_be_read_back_and_nothing_else_changes(text: str) -> None:
    before = yaml.safe_load(text) or {}
    document = YamlDocument(text).with_value(PATH, ENTRY)
    after = yaml.safe_load(document.text)
    assert after["extensions"].pop("clock") == ENTRY
    assert after == {**before, "extensions": before.get("extensions") or {}}
    assert "\r\n" not in text or "\n" not in document.text.replace("\r\n", "")
    removed = document.without(PATH)
    assert yaml.safe_load(removed.text) == after


def test_comments_quotes_and_the_order_of_keys_stay() -> None:
    document = YamlDocument(COMMENTED).with_value(PATH, {"cmd": "p", "args": []})
    added = '    - "b"\n  clock:\n    cmd: p\n    args: []\n'
    assert document.text == COMMENTED.replace('    - "b"\n', added)
    assert document.without(PATH).text == COMMENTED


def test_values_of_an_entry_are_changed_in_their_place() -> None:
    document = YamlDocument(COMMENTED).with_value(("extensions", "developer", "args"), ["c"])
    assert document.text == COMMENTED.replace('args:\n    - a\n    - "b"\n', 'args: ["c"]\n')
    document = YamlDocument("a: {b: c}\n").with_value(("a", "d", "e"), 1)
    assert document.text == 'a: {"b": "c", "d": {"e": 1}}\n'


def test_an_entry_is_replaced() -> None:
    document = YamlDocument(COMMENTED).with_value(("extensions", "developer"), {"cmd": "p"})
    assert document.data["extensions"] == {"developer": {"cmd": "p"}}
    assert document.text.startswith("# Goose of the team\nGOOSE_MODEL: 'gpt'   # quoted\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "top level is a list"),
        ("a: [", "it is not YAML: .* at line 1"),
        ("a: 1\n---\nb: 1\n", "it is not YAML"),
        ("extensions: []\n", '"extensions" is not a mapping'),
        ("extensions: {a: 1, # one\n  b: 2}\n", "with a comment in it"),
        ("extensions: {}\nextensions: {}\n", "2 times"),
        ("a: !unknown x\n", "it is not YAML"),
    ],
)
def test_what_cannot_be_edited_is_an_error(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        YamlDocument(text).with_value(PATH, ENTRY)
