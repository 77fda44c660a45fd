"""No rule raises an exception, whatever a server or a View sends."""

from dataclasses import replace
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from fanlight.check.run import apply_rules
from fanlight.protocol.transcript import RecordedMessage
from fanlight.rules.observation import (
    Document,
    Look,
    Response,
    ServerObservation,
    ToolCall,
    ViewObservation,
    html_of,
    ui_of,
)
from rules.samples import HTML, LOOK, PLAIN, SCENES, URI, VIEW

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
responses = st.builds(Response, objects | st.fixed_dictionaries({"contents": anything}))
few = settings(max_examples=150, deadline=None)


@given(tools, entries, responses, responses, objects)
@example([{"name": None, "_meta": {"ui/resourceUri": []}}], [], Response({}), Response({}), {})
@few
def test_no_rule_raises_on_any_response_of_a_server(
    tools: Any, entries: Any, read: Response, called: Response, capabilities: Any
) -> None:
    calls = {"None": ToolCall({}, called), "get_time": ToolCall({}, called)}
    look = replace(LOOK, tools=tools, resources=entries, templates=entries, reads={URI: read}, rereads={URI: read})
    look = replace(look, calls=calls, capabilities=capabilities, missing_view=read)
    apply_rules(ServerObservation("odd", [look, replace(PLAIN, tools=tools, calls=calls)]))
    for uri, item in look.contents():
        document = Document(uri, html_of(item) or "", dict(ui_of(item)), tools)
        apply_rules(ServerObservation("odd", [], [ViewObservation(document)]))


@given(st.text("<>/=\"' ascriptsyleonkey:;!-", max_size=60), objects)
@few
def test_no_rule_raises_on_any_document(html: str, ui: Any) -> None:
    read = {URI: Response({"contents": [{"uri": URI, "mimeType": "text/html;profile=mcp-app", "text": html}]})}
    apply_rules(
        ServerObservation("odd", [Look("2025-11-25", True, reads=read)], [ViewObservation(Document(URI, html, ui))])
    )


@given(
    st.lists(
        st.fixed_dictionaries({"method": st.sampled_from(["ui/initialize", "tools/call", "x"]), "params": anything})
    )
)
@few
def test_no_rule_raises_on_any_message_of_a_view(messages: Any) -> None:
    sent = [RecordedMessage("view", message) for message in messages]
    scenes = {name: replace(scene, messages=sent) for name, scene in SCENES.items()}
    apply_rules(ServerObservation("odd", [], [ViewObservation(VIEW.document, scenes)]))


@given(anything)
@few
def test_no_rule_raises_on_any_response_of_a_view(answer: Any) -> None:
    asked = {name: {"result": answer, "error": answer} for name in ("list", "call-unknown", "call-bad", "call-known")}
    scene = replace(SCENES["plain"], responses=asked)
    apply_rules(ServerObservation("odd", [], [ViewObservation(VIEW.document, {**SCENES, "plain": scene})]))
    scene.app_tools()
