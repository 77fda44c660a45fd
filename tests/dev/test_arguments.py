"""The arguments that a check makes up for a tool."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from fanlight.dev.arguments import example_arguments

NAMES = ["$ref", "type", "properties", "required", "items", "enum", "anyOf", "minimum", "minItems", "name"]
KEYS = st.sampled_from(NAMES)
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "string", "array", "object", "#/a"])
ANYTHING = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4))


@given(ANYTHING)
@example({"required": [[]], "properties": {"name": 1}})
@example({"required": ["n"], "properties": {"n": {"type": "integer", "minimum": "one"}}})
@example({"required": ["n"], "properties": {"n": {"$ref": "#/properties/n"}}})
@settings(max_examples=150, deadline=None)
def test_any_schema_gives_arguments_or_none(schema: Any) -> None:
    made = example_arguments(schema)
    assert made is None or isinstance(made, dict)


def test_only_required_fields_get_a_value() -> None:
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "default": "Berlin"},
            "day": {"type": "string", "format": "date"},
            "kind": {"enum": ["rain", "sun"]},
            "count": {"type": "integer", "minimum": 3},
            "where": {"$ref": "#/$defs/Place"},
            "more": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "left out": {"type": "string"},
        },
        "required": ["city", "day", "kind", "count", "where", "more"],
        "$defs": {"Place": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]}},
    }
    assert example_arguments(schema) == {
        "city": "Berlin",
        "day": "2026-01-26",
        "kind": "rain",
        "count": 3,
        "where": {"lat": 1},
        "more": 1,
    }


def test_a_pattern_gives_no_arguments() -> None:
    schema = {"required": ["id"], "properties": {"id": {"type": "string", "pattern": "^x"}}}
    assert example_arguments(schema) is None
