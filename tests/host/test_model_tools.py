"""The tools that a model is given: which ones, and in a form that every model API accepts."""

import re
from typing import Any

import pytest

from fanlight.host.calls.model_tools import ModelTool, find_by_name, model_tools
from fanlight.host.errors import UnknownToolError
from fanlight.host.views.app_tools import AppTool

ACCEPTED = re.compile(r"[A-Za-z0-9_-]{1,64}")


def tools_of(servers: dict[str, list[dict[str, Any]]], *app_tools: AppTool, longest: int = 1024) -> list[ModelTool]:
    return model_tools(servers, app_tools, longest)


def test_names_for_the_model_are_valid_and_unique_for_any_tool_name() -> None:
    names = ["a b", "a_b", "x" * 100, "x" * 101, "ünï", "\ud800"]
    tools = tools_of({"s": [{"name": name, "inputSchema": {"type": "object"}} for name in names]})
    assert [tool.tool for tool in tools] == names
    assert len({tool.name for tool in tools}) == len(names)
    assert all(ACCEPTED.fullmatch(tool.name) for tool in tools)


def test_names_are_unique_across_servers() -> None:
    listed = [{"name": "b_c", "inputSchema": {}}]
    tools = tools_of(
        {"a": [{"name": "b__c", "inputSchema": {}}], "a__b": [{"name": "c", "inputSchema": {}}], "x": listed}
    )
    names = [tool.name for tool in tools]
    assert (names[0], names[2]) == ("a__b__c", "x__b_c")
    assert re.fullmatch(r"a__b__c_[0-9a-f]{8}", names[1])


def test_a_changed_name_does_not_depend_on_the_other_tools() -> None:
    long, other = {"name": "x" * 100, "inputSchema": {}}, {"name": "x" * 101, "inputSchema": {}}
    (alone,) = tools_of({"s": [long]})
    assert tools_of({"s": [other, long]})[1].name == alone.name


def test_a_tool_that_only_views_may_call_is_left_out() -> None:
    hidden = {"name": "pay", "inputSchema": {}, "_meta": {"ui": {"visibility": ["app"]}}}
    assert tools_of({"shop": [hidden]}) == []


def test_the_tools_of_views_are_in_the_same_list() -> None:
    name = "drop the disc / now!"
    entry = {
        "name": name,
        "title": "Drop",
        "description": "Drop a disc.",
        "inputSchema": {"properties": {"column": {"type": "integer"}}},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "_meta": {"a": 1},
    }
    (tool,) = tools_of({}, AppTool("o2S4ehFcB__XPtnb", "game", name, entry))
    assert ACCEPTED.fullmatch(tool.name)
    assert (tool.view, tool.server, tool.tool, tool.title) == ("o2S4ehFcB__XPtnb", "game", name, "Drop")
    assert tool.input_schema == {"type": "object", "properties": {"column": {"type": "integer"}}}
    assert (tool.output_schema, tool.annotations, tool.meta) == ({"type": "object"}, {"readOnlyHint": True}, {"a": 1})


@pytest.mark.parametrize("schema", [{"type": "array"}, None, "object", {"type": ["object", "null"]}, []])
def test_a_schema_is_always_that_of_an_object(schema: Any) -> None:
    (tool,) = tools_of({}, AppTool("v", "s", "t", {"name": "t", "inputSchema": schema}))
    assert tool.input_schema == {"type": "object", "properties": {}}


def test_a_long_description_is_cut() -> None:
    entry = {"name": "t", "description": "d" * 1_000_000, "inputSchema": {}}
    ours, theirs = tools_of({"s": [entry]}, AppTool("v", "s", "t", entry), longest=20)
    assert ours.description == theirs.description == "d" * 19 + "…"


@pytest.mark.parametrize("wrong", [5, None, ["x"], {"a": 1}])
def test_fields_of_views_that_are_not_valid_are_left_out(wrong: Any) -> None:
    entry = {"name": "t", "title": wrong, "description": wrong, "outputSchema": wrong, "annotations": wrong}
    (tool,) = tools_of({}, AppTool("v", "s", "t", entry))
    assert (tool.title, tool.description) == (None, "")
    assert tool.output_schema == tool.annotations == (wrong if isinstance(wrong, dict) else None)


def test_a_name_that_does_not_exist_is_an_error_with_those_that_do() -> None:
    tools = tools_of({"s": [{"name": "a", "inputSchema": {}}, {"name": "b", "inputSchema": {}}]})
    assert find_by_name(tools, "s__b").tool == "b"
    with pytest.raises(UnknownToolError, match=r"The model has no tool 's__c'\. The tools are: s__a, s__b\."):
        find_by_name(tools, "s__c")
