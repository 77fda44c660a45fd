"""The host cases of the project's test specification, by their ids: sections 4 to 7, and section 3 as a host sees it.

Most stand where the thing itself is tested; this module holds the rest, and sees that none is missing.
"""

import re
from pathlib import Path

import pytest

from fanlight import Csp
from fanlight.host.web.sandbox.document_cache import served_document
from fanlight.protocol.bridge import Bridge
from fanlight.protocol.headers import allow_attribute

HERE = Path(__file__).parent
IDS = [
    *(f"mcp-apps-life-0{n}" for n in range(1, 8)),
    *(f"mcp-apps-ctx-0{n}" for n in range(1, 7)),
    *(f"mcp-apps-req-0{n}" for n in range(1, 5)),
    *(f"mcp-apps-sbox-0{n}" for n in range(1, 4)),
]
HELLO = {"protocolVersion": "2026-01-26", "appInfo": {"name": "V", "version": "1"}, "appCapabilities": {}}


def greeted(context: dict[str, object], **app_capabilities: object) -> tuple[Bridge, dict[str, object]]:
    bridge = Bridge({"name": "H", "version": "1"}, {}, context)
    hello = {**HELLO, "appCapabilities": app_capabilities}
    bridge.receive({"jsonrpc": "2.0", "id": 0, "method": "ui/initialize", "params": hello})
    (answer,) = bridge.outgoing()
    bridge.receive({"jsonrpc": "2.0", "method": "ui/notifications/initialized"})
    return bridge, answer["result"]["hostContext"]


def test_every_case_of_the_specification_is_somewhere() -> None:
    files = [*HERE.glob("test_*.py"), *(HERE.parent / "browser").glob("test_*.py")]
    found = {id for file in files for id in re.findall(r'case\("(mcp-apps-[a-z]+-\d+)"\)', file.read_text("utf-8"))}
    assert set(IDS) <= found


@pytest.mark.case("mcp-apps-ctx-01")
@pytest.mark.case("mcp-apps-ctx-06")
def test_style_variables_and_fonts_are_in_the_answer_to_initialize() -> None:
    styles = {"variables": {"--color-background-primary": "#fff"}, "css": {"fonts": "@font-face{font-family:x}"}}
    _, context = greeted({"styles": styles})
    assert context["styles"] == styles


@pytest.mark.case("mcp-apps-ctx-02")
def test_a_mode_that_only_one_side_offers_is_not_entered() -> None:
    bridge, context = greeted(
        {"availableDisplayModes": ["inline", "fullscreen"]}, availableDisplayModes=["inline", "pip"]
    )
    assert context["availableDisplayModes"] == ["inline", "fullscreen"]
    for id, mode in enumerate(("fullscreen", "pip")):
        ask = {"jsonrpc": "2.0", "id": id, "method": "ui/request-display-mode", "params": {"mode": mode}}
        assert bridge.receive(ask) is None
    assert [message["result"] for message in bridge.outgoing()] == [{"mode": "inline"}] * 2


@pytest.mark.case("mcp-apps-ctx-03")
def test_a_display_mode_request_is_answered_with_the_mode_that_came_of_it() -> None:
    bridge, _ = greeted({"availableDisplayModes": ["inline", "fullscreen"]})
    ask = {"jsonrpc": "2.0", "id": 1, "method": "ui/request-display-mode", "params": {"mode": "fullscreen"}}
    assert bridge.receive(ask) is not None
    bridge.respond(1, {"mode": "inline"})
    assert [message["result"] for message in bridge.outgoing()] == [{"mode": "inline"}]


@pytest.mark.case("mcp-apps-ctx-04")
@pytest.mark.case("mcp-apps-ctx-05")
@pytest.mark.parametrize("dimensions", [{"width": 400, "height": 300}, {"maxWidth": 400, "maxHeight": 300}, {}])
def test_container_dimensions_reach_the_view_as_they_are(dimensions: dict[str, int]) -> None:
    _, context = greeted({"containerDimensions": dimensions})
    assert context["containerDimensions"] == dimensions


@pytest.mark.case("mcp-apps-sbox-02")
def test_only_declared_domains_are_in_the_policy_of_a_view() -> None:
    csp = Csp(connect_domains=["https://api.example.com"])
    document = served_document("a" * 32, "<!doctype html>", csp, [], ["http://localhost:8000"])
    assert "connect-src 'self' https://api.example.com;" in document.headers["content-security-policy"]
    closed = served_document("a" * 32, "<!doctype html>", None, [], ["http://localhost:8000"])
    assert "connect-src 'none';" in closed.headers["content-security-policy"]


@pytest.mark.case("mcp-apps-sbox-03")
def test_a_granted_permission_is_in_the_allow_attribute_and_in_the_header() -> None:
    assert allow_attribute(["camera", "microphone"]) == "camera; microphone"
    document = served_document("a" * 32, "<!doctype html>", None, ["camera"], ["http://localhost:8000"])
    assert document.headers["permissions-policy"].startswith("camera=(self), microphone=()")
