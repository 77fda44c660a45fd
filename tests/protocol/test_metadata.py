from typing import Any

import pytest

from fanlight import Csp, RegistrationError
from fanlight.protocol import metadata


@pytest.mark.parametrize(
    "uri",
    ["ui://clock/view", "ui://clock", "ui://a/../b", "ui://my%20shop/cart.html", "ui://a/b?x=1#y", "ui://A:80/~b//c"],
)
def test_a_ui_uri_is_kept_unchanged(uri: str) -> None:
    assert metadata.check_uri(uri) == uri


@pytest.mark.parametrize(
    "uri",
    [
        *("", "clock", "https://clock/view", "UI://clock/view", "ui:/clock", "ui://", "ui://a b", "ui://ä", "ui://a\n"),
        *("ui://%zz", "ui://{id}", 'ui://"', "ui://<x>", None, 7),
    ],
    ids=repr,
)
def test_an_invalid_ui_uri_raises_with_an_example(uri: Any) -> None:
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
def test_an_invalid_visibility_raises_with_what_to_write(visibility: Any, hint: str) -> None:
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
def test_invalid_permissions_raise_with_what_to_write(permissions: Any, hint: str) -> None:
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


def test_removing_ui_metadata_keeps_the_rest_and_the_original() -> None:
    tool = {"name": "x", "_meta": {"ui": {}, "ui/resourceUri": "ui://a/b", "mine": 1}}
    assert metadata.without_ui(tool) == {"name": "x", "_meta": {"mine": 1}}
    assert metadata.without_ui({"name": "x", "_meta": {"ui": {}}}) == {"name": "x"}
    assert tool["_meta"] == {"ui": {}, "ui/resourceUri": "ui://a/b", "mine": 1}
    plain = {"name": "x", "_meta": {"mine": 1}}
    assert metadata.without_ui(plain) is plain


def test_valid_visibility_and_permissions_are_kept_once_each() -> None:
    assert metadata.check_visibility(None) is None
    assert metadata.check_visibility(["app", "model", "app"]) == ("app", "model")
    assert metadata.check_permissions(None) == ()
    assert metadata.check_permissions({"camera"}) == ("camera",)


def test_the_metadata_of_a_resource_is_read_as_options_of_a_view() -> None:
    csp = Csp(connect_domains=["https://a.example"], base_uri_domains=["https://b.example"])
    meta = metadata.resource_meta(csp, ["clipboard-write"], "a.example", True)
    options = {"csp": csp, "permissions": ("clipboard-write",), "domain": "a.example", "prefers_border": True}
    assert metadata.read_resource_meta(meta["ui"], "ui://a/b") == options
    nothing = {"csp": None, "permissions": (), "domain": None, "prefers_border": None}
    assert metadata.read_resource_meta({}, "ui://a/b") == nothing
    assert metadata.read_resource_meta({"csp": {"fontDomains": ["https://a.example"]}}, "ui://a/b")["csp"] == Csp()


@pytest.mark.parametrize(
    ("ui", "message"),
    [
        (7, "The _meta.ui of ui://a/b is 7, expected an object"),
        ({"csp": []}, "must be objects"),
        ({"permissions": ["camera"]}, "must be objects"),
        ({"permissions": {"midi": {}}}, "permissions has 'midi'"),
        ({"csp": {"connectDomains": ["*"]}}, r"connect_domains\[0\] is '\*'"),
    ],
)
def test_invalid_metadata_of_a_resource_raises(ui: Any, message: str) -> None:
    with pytest.raises(RegistrationError, match=message):
        metadata.read_resource_meta(ui, "ui://a/b")
