from typing import Any

import pytest

from fanlight.protocol.visibility import for_app, for_model, visibility


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (None, {"model", "app"}),
        (["model"], {"model"}),
        (["app"], {"app"}),
        (["model", "app"], {"model", "app"}),
        ([], set()),
        (["app", "admin", 3, None, {}], {"app"}),
        (["Model"], set()),
        ("model", set()),
        ({"model": True}, set()),
        (True, set()),
    ],
)
def test_a_malformed_visibility_hides_a_tool_and_never_exposes_it(declared: Any, expected: set[str]) -> None:
    tool = {"name": "t", "_meta": {"ui": {"visibility": declared}}}
    assert visibility(tool) == expected
    assert (for_model(tool), for_app(tool)) == ("model" in expected, "app" in expected)


def test_a_tool_without_metadata_is_for_model_and_app() -> None:
    assert visibility({"name": "t"}) == {"model", "app"}
    assert visibility({"name": "t", "_meta": None}) == {"model", "app"}
    assert visibility({"name": "t", "_meta": {"ui": "nonsense"}}) == {"model", "app"}


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({"openai/outputTemplate": "ui://a"}, {"model"}),
        ({"openai/widgetAccessible": True}, {"model", "app"}),
        ({"openai/visibility": "private"}, set()),
        ({"openai/visibility": "private", "openai/widgetAccessible": True}, {"app"}),
        ({"openai/visibility": "private", "ui": {}}, {"model", "app"}),
        ({"openai/toolInvocation/invoking": "Wait"}, {"model", "app"}),
    ],
)
def test_the_keys_of_chatgpt_count_where_there_are_none_of_the_standard(
    meta: dict[str, Any], expected: set[str]
) -> None:
    assert visibility({"name": "t", "_meta": meta}) == expected


def test_the_metadata_of_older_python_servers_is_read() -> None:
    assert visibility({"name": "t", "meta": {"ui": {"visibility": ["app"]}}}) == {"app"}
