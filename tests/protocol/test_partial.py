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
        ('{"a":12.', {"a": 12}),
        ('{"a":12.5', {"a": 12.5}),
        ('{"a":1e', {"a": 1}),
        ('{"a":1e+', {"a": 1}),
        ('{"a":1e+2', {"a": 100.0}),
        ('{"a":t', {}),
        ('{"a":tru', {}),
        ('{"a":true', {}),
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
        ('{"a":"\\ud83dx', {"a": "\ufffdx"}),
        ('{"a":"\\ude00x', {"a": "\ufffdx"}),
        ('{"a":"\\ud83d\\n', {"a": "\ufffd\n"}),
        ('{"a":1,"a":2', {"a": 2}),
        ('{"__proto__":{"x":1', {"__proto__": {"x": 1}}),
    ],
)
def test_the_best_object_so_far(text: str, arguments: dict[str, Any]) -> None:
    assert after(text) == arguments
    assert after(*text) == arguments


def test_looking_at_every_step_changes_nothing() -> None:
    text = json.dumps({"a": ["x", 12, {"b": "yes\n"}, [[]], None, True], "c": -1.5e3, "é": "😀"})
    partial = PartialArguments()
    for character in text:
        partial.feed(character)
        json.dumps(partial.arguments)
    assert partial.arguments == json.loads(text)
    assert partial.complete
    assert not partial.broken


def test_any_document_in_any_pieces_comes_out_whole() -> None:
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
        assert partial.complete


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"a":1,}', {"a": 1}),
        ('{"a":1 2', {"a": 1}),
        ('{"a" 1', {}),
        ("{a:1}", {}),
        ('{"a":"x\ny', {"a": "x"}),
        ('{"a":"\\x', {"a": ""}),
        ('{"a":"\\u12zz', {"a": ""}),
        ('{"a":01', {}),
        ('{"a":[1}', {"a": [1]}),
        ('{"a":nope', {}),
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
def test_text_that_stops_being_json_keeps_what_came_before(text: str, kept: dict[str, Any]) -> None:
    for pieces in ([text], list(text)):
        partial = PartialArguments()
        for piece in [*pieces, ' "more": 1}']:
            partial.feed(piece)
        assert partial.arguments == kept
        assert partial.broken
        assert not partial.complete


def test_what_follows_the_object_is_ignored() -> None:
    partial = PartialArguments()
    partial.feed('{"a":1} and more {"b":2}')
    assert partial.arguments == {"a": 1}
    assert partial.complete


def test_depth_is_bounded() -> None:
    partial = PartialArguments(max_depth=10)
    partial.feed('{"a":' + "[" * 50)
    assert partial.broken
    assert json.dumps(partial.arguments).count("[") == 9


@pytest.mark.parametrize("number", ["9" * 5000, "1" + "0" * 399, "1e999", "-1e999"])
def test_a_monstrous_number_is_still_json_that_can_be_sent(number: str) -> None:
    partial = PartialArguments()
    partial.feed('{"a":' + number + "}")
    assert json.dumps(partial.arguments, allow_nan=False)
