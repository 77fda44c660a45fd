import re

from fanlight.host.calls.model_tools import model_tools


def test_names_for_the_model_are_valid_and_unique_for_any_tool_name() -> None:
    names = ["a b", "a_b", "x" * 100, "x" * 101, "ünï"]
    tools = model_tools({"s": [{"name": name, "inputSchema": {"type": "object"}} for name in names]})
    assert [tool.tool for tool in tools] == names
    assert len({tool.name for tool in tools}) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tool.name) for tool in tools)


def test_names_are_unique_across_servers() -> None:
    listed = [{"name": "b_c", "inputSchema": {}}]
    tools = model_tools(
        {"a": [{"name": "b__c", "inputSchema": {}}], "a__b": [{"name": "c", "inputSchema": {}}], "x": listed}
    )
    assert [tool.name for tool in tools] == ["a__b__c", "a__b__c_2", "x__b_c"]


def test_a_tool_that_only_views_may_call_is_left_out() -> None:
    hidden = {"name": "pay", "inputSchema": {}, "_meta": {"ui": {"visibility": ["app"]}}}
    assert model_tools({"shop": [hidden]}) == []
