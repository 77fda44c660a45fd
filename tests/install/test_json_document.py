"""JSON with comments, edited as text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.install.errors import DocumentError
from fanlight.install.json_document import JsonDocument

ENTRY = {"command": "C:\\Program Files\\Python\\python.exe", "args": ["C:\\my apps\\server.py"], "env": {"K": 'ä "b"'}}
PATH = ("mcpServers", "clock")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "  \n",
        "{ }\n",
        '{"theme": "dark"}',
        '{"mcpServers": {"other": {"command": "x"},},}',
        '{\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n',
        '{\r\n\t"mcpServers": {\r\n\t}\r\n}\r\n',
        '{"mcpServers": /* none yet */ {}}',
    ],
)
def test_an_added_member_can_be_read_back_and_nothing_else_changes(text: str) -> None:
    before = JsonDocument(text)
    after = before.with_value(PATH, ENTRY)
    assert after.data["mcpServers"].pop("clock") == ENTRY
    assert after.data == {"mcpServers": {}, **before.data}
    assert ("\r\n" in after.text) == ("\r\n" in text)
    assert "\r\n" not in text or "\n" not in after.text.replace("\r\n", "")


COMMENTED = """\
// Servers of the team.
{
  "servers": {
    /* the old one */
    "other": {"command": "x"}, // keep
    // "third": {"command": "y"},
  },
  "inputs": [], // none
}
"""


def test_comments_trailing_commas_and_the_order_of_keys_stay() -> None:
    document = JsonDocument(COMMENTED).with_value(("servers", "clock"), {"command": "p"})
    assert (
        document.text
        == """\
// Servers of the team.
{
  "servers": {
    /* the old one */
    "other": {"command": "x"}, // keep
    "clock": {
      "command": "p"
    }
    // "third": {"command": "y"},
  },
  "inputs": [], // none
}
"""
    )
    removed = document.without(("servers", "clock"))
    assert removed.text == COMMENTED.replace('"x"}, // keep', '"x"} // keep')


def test_a_value_is_replaced_in_its_place() -> None:
    text = '{\n  "a": 1, // one\n  "b": {"c": [1]}\n}'
    assert JsonDocument(text).with_value(("a",), 2).text == text.replace("1, //", "2, //")
    assert JsonDocument(text).with_value(("b", "c"), [2]).text == text.replace("[1]", "[2]")


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ('{"a": 1, "b": 2, "c": 3}', ("a",), '{"b": 2, "c": 3}'),
        ('{"a": 1, "b": 2, "c": 3}', ("b",), '{"a": 1, "c": 3}'),
        ('{"a": 1, "b": 2}', ("b",), '{"a": 1}'),
        ('{\n  "a": 1,\n  "b": 2 // two\n}', ("b",), '{\n  "a": 1\n  // two\n}'),
        ('{\n  "a": {\n    "b": 2\n  }\n}', ("a", "b"), '{\n  "a": {}\n}'),
        ('{\n  "a": 1, // one\n  "b": 2\n}', ("a",), '{\n  // one\n  "b": 2\n}'),
    ],
)
def test_a_removed_member_takes_its_comma_and_its_line_with_it_but_no_comment(
    text: str, path: tuple[str, ...], expected: str
) -> None:
    assert JsonDocument(text).without(path).text == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "top level is a list"),
        ("null", "top level is null"),
        ('{"a": 1', "expected a comma or } at line 1, column 8"),
        ('{"a": 1 "b": 2}', "expected a comma or }"),
        ("{'a': 1}", "expected a string in double quotes at line 1, column 2"),
        ('{\n  "a": tru\n}', "expected a value at line 2, column 8"),
        ("{} {}", "expected the end of the file"),
        ('{"a": "\\q"}', "expected a string"),
        ("[" * 200, "nested more than"),
    ],
)
def test_what_is_not_an_object_is_an_error_with_its_place(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        JsonDocument(text)


def test_a_member_that_is_there_twice_is_an_error() -> None:
    with pytest.raises(DocumentError, match='"a" 2 times'):
        JsonDocument('{"a": {}, "a": {}}').with_value(("a", "b"), 1)


def test_a_member_inside_of_something_else_is_an_error() -> None:
    with pytest.raises(DocumentError, match='"a" is a list, expected an object'):
        JsonDocument('{"a": []}').with_value(("a", "b"), 1)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), _VALUES, max_size=4), st.sampled_from([None, 2, "\t"]), st.booleans())
def test_any_object_is_the_same_after_a_member_was_added_and_removed(
    data: dict[str, Any], indent: int | str | None, is_ascii: bool
) -> None:
    document = JsonDocument(json.dumps(data, indent=indent, ensure_ascii=is_ascii))
    assert document.data == data
    added = document.with_value(("servers ", "clock"), ENTRY)
    assert json.loads(added.text) == {**data, "servers ": {"clock": ENTRY}}
    removed = added.without(("servers ", "clock"))
    assert json.loads(removed.text) == {**data, "servers ": {}}
    assert json.loads(removed.without(("servers ",)).text) == data
