import json
import math
from typing import Any

import pytest

from fanlight.host.json_text import MAX_DEPTH, byte_length, decode_object, encode_json


@pytest.mark.parametrize(
    "value", ["ä\u2028😀", "\ud800", 2**70, -1.5, None, [{"a": {}}], float("nan")], ids=["text", "surrogate", *"bcdef"]
)
def test_any_json_value_is_encoded_and_decoded(value: Any) -> None:
    text = encode_json({"x": value})
    assert "\ud800" not in text
    got = decode_object(text)
    assert got is not None
    value = "\ufffd" if value == "\ud800" else value
    assert got["x"] == (None if value != value else pytest.approx(value) if isinstance(value, int | float) else value)


@pytest.mark.parametrize(("text", "size"), [("", 0), ("abc", 3), ("ä", 2), ("a😀", 5), ("\ud800", 3)])
def test_the_length_of_a_text_is_counted_in_bytes(text: str, size: int) -> None:
    assert byte_length(text) == size


@pytest.mark.parametrize("value", [[math.inf, -math.inf, math.nan], [10**30, math.inf]])
def test_a_number_that_json_does_not_have_is_null(value: list[Any]) -> None:
    text = encode_json({"x": value})
    assert json.loads(text)["x"] == [None if isinstance(number, float) else number for number in value]


def test_a_lone_surrogate_is_replaced_when_it_is_decoded() -> None:
    """Neither servers nor stores accept one. Goes red without the replacement."""
    assert decode_object('{"a\\udfff": ["x\\ud800y", "\\ud83d\\ude00"]}') == {"a\ufffd": ["x\ufffdy", "😀"]}


@pytest.mark.parametrize("text", ["", "x", "[]", "7", "{", "[" * 100_000, '{"a":' * 100_000])
def test_text_that_is_not_an_object_decodes_to_none(text: str) -> None:
    assert decode_object(text) is None


@pytest.mark.parametrize("odd", ["", '"\\ud800"', "NaN"], ids=["plain", "surrogate", "nan"])
def test_an_object_that_is_nested_too_deeply_to_be_encoded_again_decodes_to_none(odd: str) -> None:
    lists, tables = "[" * MAX_DEPTH + odd + "]" * MAX_DEPTH, '{"a":' * MAX_DEPTH + (odd or "1") + "}" * MAX_DEPTH
    assert decode_object(tables) is not None
    assert decode_object(f'{{"a":{lists}}}') is None
    assert decode_object(f'{{"a":{tables}}}') is None
    wide = decode_object('{"a":[' + ",".join([odd or "1", *["[[[]]]"] * 1000]) + "]}")
    assert wide is not None
    assert len(wide["a"]) == 1001
