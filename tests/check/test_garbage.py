"""Whatever a server or a View says, no rule fails on it."""

from dataclasses import replace
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from check.samples import HTML, LOOK, PLAIN, SCENES, URI, VIEW
from fanlight.check.arguments import made_arguments
from fanlight.check.observation import Answer, Called, Document, Look, Seen, ViewSeen, html_of, ui_of
from fanlight.check.run import judged
from fanlight.check.view_rules import app_tools
from fanlight.protocol.transcript import RecordedMessage

scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "ui://clock/view", "model", "*", HTML])
NAMES = """
ui csp connectDomains resourceUri visibility ui/resourceUri permissions domain mimeType text blob uri type properties
required content structuredContent prefersBorder name
"""
keys = st.sampled_from(NAMES.split())
anything = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4))
objects = st.dictionaries(keys, anything, max_size=5)
tools = st.lists(
    st.fixed_dictionaries({"name": anything, "_meta": anything, "annotations": anything, "inputSchema": anything}),
    max_size=3,
)
entries = st.lists(st.fixed_dictionaries({"uri": anything, "mimeType": anything, "_meta": anything}), max_size=3)
answers = st.builds(Answer, objects | st.fixed_dictionaries({"contents": anything}))
few = settings(max_examples=150, deadline=None)


@given(tools, entries, answers, answers, objects)
@example([{"name": None, "_meta": {"ui/resourceUri": []}}], [], Answer({}), Answer({}), {})
@few
def test_no_rule_fails_on_what_a_server_says(
    tools: Any, entries: Any, read: Answer, called: Answer, capabilities: Any
) -> None:
    calls = {"None": Called({}, called), "get_time": Called({}, called)}
    look = replace(LOOK, tools=tools, resources=entries, templates=entries, reads={URI: read}, again={URI: read})
    look = replace(look, calls=calls, capabilities=capabilities, missing=read)
    judged(Seen("odd", [look, replace(PLAIN, tools=tools, calls=calls)]))
    for uri, item in look.contents():
        document = Document(uri, html_of(item) or "", dict(ui_of(item)), tools)
        judged(Seen("odd", [], [ViewSeen(document)]))


@given(st.text("<>/=\"' ascriptsyleonkey:;!-", max_size=60), objects)
@few
def test_no_rule_fails_on_what_a_document_is(html: str, ui: Any) -> None:
    read = {URI: Answer({"contents": [{"uri": URI, "mimeType": "text/html;profile=mcp-app", "text": html}]})}
    judged(Seen("odd", [Look("2025-11-25", True, reads=read)], [ViewSeen(Document(URI, html, ui))]))


@given(
    st.lists(
        st.fixed_dictionaries({"method": st.sampled_from(["ui/initialize", "tools/call", "x"]), "params": anything})
    )
)
@few
def test_no_rule_fails_on_what_a_view_sends(messages: Any) -> None:
    said = [RecordedMessage("view", message) for message in messages]
    scenes = {name: replace(scene, said=said) for name, scene in SCENES.items()}
    judged(Seen("odd", [], [ViewSeen(VIEW.document, scenes)]))


@given(anything)
@few
def test_no_rule_fails_on_what_a_view_answers(answer: Any) -> None:
    asked = {name: {"result": answer, "error": answer} for name in ("list", "call-unknown", "call-bad", "call-known")}
    scene = replace(SCENES["plain"], answers=asked)
    judged(Seen("odd", [], [ViewSeen(VIEW.document, {**SCENES, "plain": scene})]))
    app_tools(scene)


@given(anything)
@example({"required": [[]], "properties": {"name": 1}})
@example({"required": ["n"], "properties": {"n": {"type": "integer", "minimum": "one"}}})
@few
def test_arguments_are_made_of_any_schema_or_of_none(schema: Any) -> None:
    made = made_arguments(schema)
    assert made is None or isinstance(made, dict)


def test_the_least_arguments_are_made() -> None:
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
    assert made_arguments(schema) == {
        "city": "Berlin",
        "day": "2026-01-26",
        "kind": "rain",
        "count": 3,
        "where": {"lat": 1},
        "more": 1,
    }
    assert made_arguments({"required": ["id"], "properties": {"id": {"type": "string", "pattern": "^x"}}}) is None
