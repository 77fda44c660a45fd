import json
import random
from typing import Any

import pytest

from fanlight.protocol.partial import PartialArguments


def after(*pieces: str) -> dict[str, Any]:
    partial = PartialArguments()
    for piece in pieces:
        partial.feed(piece)
    return partial.arguments


def watched(text: str) -> dict[str, Any]:
    """Feed a text character by character, and read the arguments each time."""
    partial = PartialArguments()
    for character in text:
        partial.feed(character)
        assert isinstance(partial.arguments, dict)
    return partial.arguments


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        (" \n", {}),
        ("{", {}),
        ('{"', {}),
        ('{"na', {}),
        ('{"name"', {}),
        ('{"name":', {}),
        ('{"name":"', {"name": ""}),
        ('{"name":"A', {"name": "A"}),
        ('{"name":"Ada"', {"name": "Ada"}),
        ('{"name":"Ada",', {"name": "Ada"}),
        ('{"name":"Ada","a', {"name": "Ada"}),
        ('{"a":[', {"a": []}),
        ('{"a":[1', {"a": [1]}),
        ('{"a":[1,', {"a": [1]}),
        ('{"a":[1,"x', {"a": [1, "x"]}),
        ('{"a":[{"b":[', {"a": [{"b": []}]}),
        ('{"a":{"b":{"c":1', {"a": {"b": {"c": 1}}}),
        ('{"a":-', {}),
        ('{"a":-1', {"a": -1}),
        ('{"a":12.', {}),
        ('{"a":12.5', {"a": 12.5}),
        ('{"a":1e', {}),
        ('{"a":1e+', {}),
        ('{"a":1e+2', {"a": 100.0}),
        ('{"a":t', {}),
        ('{"a":tru', {}),
        ('{"a":true', {"a": True}),
        ('{"a":true}', {"a": True}),
        ('{"a":[nul', {"a": []}),
        ('{"a":[null,', {"a": [None]}),
        ('{"a":"x\\', {"a": "x"}),
        ('{"a":"x\\n', {"a": "x\n"}),
        ('{"a":"\\u00e', {"a": ""}),
        ('{"a":"\\u00e9', {"a": "é"}),
        ('{"a":"\\ud83d', {"a": ""}),
        ('{"a":"\\ud83d\\ude', {"a": ""}),
        ('{"a":"\\ud83d\\ude00', {"a": "😀"}),
        ('{"a":1,"a":2', {"a": 2}),
        ('{"__proto__":{"x":1', {"__proto__": {"x": 1}}),
    ],
)
def test_arguments_are_parsed_as_far_as_they_go(text: str, arguments: dict[str, Any]) -> None:
    assert after(text) == arguments
    assert after(*text) == arguments


def test_reading_the_arguments_after_each_piece_changes_nothing() -> None:
    text = json.dumps({"a": ["x", 12, {"b": "yes\n"}, [[]], None, True], "c": -1.5e3, "é": "😀"})
    assert watched(text) == json.loads(text)


def test_arguments_that_were_read_do_not_change_with_the_next_piece() -> None:
    partial = PartialArguments()
    partial.feed('{"a":["x"')
    first = partial.arguments
    partial.feed(',"y"]}')
    assert partial.arguments == {"a": ["x", "y"]}
    assert first == {"a": ["x"]}


def test_strings_and_lists_only_grow() -> None:
    text = json.dumps({"rows": [{"name": f"Row {number}", "text": 'a"b\\c é\n'} for number in range(20)]})
    partial = PartialArguments()
    before: list[dict[str, str]] = []
    for character in text:
        partial.feed(character)
        rows = partial.arguments.get("rows", [])
        assert len(rows) >= len(before)
        for old, new in zip(before, rows, strict=False):
            assert all(new[key].startswith(value) for key, value in old.items())
        before = rows
    assert len(before) == 20


def test_text_is_parsed_only_when_the_arguments_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def parse(text: bytearray, **options: Any) -> Any:
        parsed.append(text.decode())
        return {}

    monkeypatch.setattr("fanlight.protocol.partial.from_json", parse)
    partial = PartialArguments()
    for piece in '{"a":1}':
        partial.feed(piece)
    assert parsed == []
    assert (partial.arguments, partial.arguments) == ({}, {})
    assert parsed == ['{"a":1}']


def test_any_document_in_any_pieces_is_complete_at_the_end() -> None:
    chance = random.Random(1865)

    def value(depth: int) -> Any:
        kind = chance.random()
        if depth > 4 or kind < 0.4:
            return chance.choice([0, -1, 2.5, 1e300, 10**30, "", 'a"b\\c/\n\t\x01', "é€😀\u2028", True, False, None])
        if kind < 0.7:
            return [value(depth + 1) for _ in range(chance.randrange(4))]
        return {
            chance.choice(["a", 'q"', "é", "\\", "😀", ""]) + str(i): value(depth + 1)
            for i in range(chance.randrange(4))
        }

    for _ in range(500):
        document = {"v": value(0)}
        text = json.dumps(document, ensure_ascii=chance.random() < 0.5, indent=chance.choice([None, 1]))
        partial = PartialArguments()
        at = 0
        while at < len(text):
            step = chance.randrange(1, 9)
            partial.feed(text[at : at + step])
            at += step
            assert isinstance(partial.arguments, dict)
            json.dumps(partial.arguments).encode()
        assert partial.arguments == document


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"a":1,}', {"a": 1}),
        ('{"a" 1', {}),
        ("{a:1}", {}),
        ('{"a":"x\ny', {"a": "x"}),
        ('{"a":"\\x', {"a": ""}),
        ('{"a":"\\u12zz', {"a": ""}),
        ('{"a":"x\\ud83dy', {"a": "x"}),
        ('{"a":"x\\ude00y', {"a": "x"}),
        ('{"a":"x\ud83dy', {"a": "x"}),
        ('{"a":01', {"a": 0}),
        ('{"a":[1}', {"a": [1]}),
        ('{"a":nope', {}),
        ('{"a":NaN', {}),
        ('{"a":Infinity', {}),
        ('{"a":+1', {}),
        ("[1,2]", {}),
        ("null", {}),
        ('"text"', {}),
        ("7 ", {}),
        ("}", {}),
        ("]", {}),
        ("Sure! Here it is: {", {}),
    ],
)
def test_text_that_is_not_json_keeps_what_was_read_before(text: str, kept: dict[str, Any]) -> None:
    assert watched(text) == kept
    assert watched(text + ' "more": 1}') == kept


def test_text_after_the_object_is_ignored() -> None:
    assert after('{"a":1} and more {"b":2}') == {"a": 1}
    assert watched('{"a":1} and more {"b":2}') == {"a": 1}


def test_depth_is_bounded() -> None:
    assert json.dumps(watched('{"a":' + "[" * 500)).count("[") < 210


@pytest.mark.parametrize("number", ["9" * 5000, "1" + "0" * 399, "1e999", "-1e999", "9" * 400 + ".5"])
def test_the_largest_numbers_do_not_raise(number: str) -> None:
    after('{"a":' + number + "}")
