from typing import Any

import pytest

from fanlight import Csp, RegistrationError
from fanlight.protocol import metadata


@pytest.mark.parametrize(
    "uri",
    ["ui://clock/view", "ui://clock", "ui://a/../b", "ui://my%20shop/cart.html", "ui://a/b?x=1#y", "ui://A:80/~b//c"],
)
def test_a_ui_uri_is_taken_byte_for_byte(uri: str) -> None:
    assert metadata.check_uri(uri) == uri


@pytest.mark.parametrize(
    "uri",
    [
        *("", "clock", "https://clock/view", "UI://clock/view", "ui:/clock", "ui://", "ui://a b", "ui://ä", "ui://a\n"),
        *("ui://%zz", "ui://{id}", 'ui://"', "ui://<x>", None, 7),
    ],
    ids=repr,
)
def test_what_is_no_ui_uri_is_refused_with_an_example(uri: Any) -> None:
    with pytest.raises(RegistrationError, match="ui://clock/view"):
        metadata.check_uri(uri)


@pytest.mark.parametrize(
    ("visibility", "hint"),
    [
        ("app", r'Write visibility=\["app"\]'),
        ("modell", r'Write visibility=\["model"\]'),
        (["App"], r'Write visibility=\["app"\]'),
        (["model", "user"], r"has 'user', expected a list with any of model, app\.$"),
        ([], "nobody could call"),
        (7, "visibility is 7, expected a list with any of model, app"),
        ({"app": True}, "expected a list"),
    ],
)
def test_unknown_visibility_is_refused_with_what_to_write(visibility: Any, hint: str) -> None:
    with pytest.raises(RegistrationError, match=hint):
        metadata.check_visibility(visibility)


@pytest.mark.parametrize(
    ("permissions", "hint"),
    [
        (["clipboardWrite"], r'Write permissions=\["clipboard-write"\]'),
        ("camera", r'Write permissions=\["camera"\]'),
        (["Camera"], r'Write permissions=\["camera"\]'),
        (["gps"], r"has 'gps', expected a list with any of camera, microphone, geolocation, clipboard-write\.$"),
        ({"camera": {}}, "expected a list"),
    ],
)
def test_unknown_permissions_are_refused_with_what_to_write(permissions: Any, hint: str) -> None:
    with pytest.raises(RegistrationError, match=hint):
        metadata.check_permissions(permissions)


def test_a_tools_metadata_has_the_nested_link_and_the_flat_one() -> None:
    assert metadata.tool_meta("ui://a/b", ["app"]) == {
        "ui": {"resourceUri": "ui://a/b", "visibility": ["app"]},
        "ui/resourceUri": "ui://a/b",
    }
    assert metadata.tool_meta(None, ["app"]) == {"ui": {"visibility": ["app"]}}
    assert metadata.tool_meta(None) == {}


def test_a_resources_metadata_has_only_what_was_declared() -> None:
    assert metadata.resource_meta(None, (), None, None) == {}
    assert metadata.resource_meta(Csp(), (), None, None) == {}
    assert metadata.resource_meta(None, ["clipboard-write"], "a.example", False) == {
        "ui": {"permissions": {"clipboardWrite": {}}, "domain": "a.example", "prefersBorder": False}
    }


def test_taking_ui_metadata_off_leaves_the_rest_and_the_original() -> None:
    tool = {"name": "x", "_meta": {"ui": {}, "ui/resourceUri": "ui://a/b", "mine": 1}}
    assert metadata.without_ui(tool) == {"name": "x", "_meta": {"mine": 1}}
    assert metadata.without_ui({"name": "x", "_meta": {"ui": {}}}) == {"name": "x"}
    assert tool["_meta"] == {"ui": {}, "ui/resourceUri": "ui://a/b", "mine": 1}
    plain = {"name": "x", "_meta": {"mine": 1}}
    assert metadata.without_ui(plain) is plain
