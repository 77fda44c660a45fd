"""The documented names of `mcp_ui_server.utils`, for code that imports them from there."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fanlight import browser
from fanlight.mcpui.actions import UIActionResult
from fanlight.mcpui.resource import UIResource
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.extension import URI_SCHEME
from fanlight.server.bundle.document import first_script

_ACTION: TypeAdapter[UIActionResult] = TypeAdapter(UIActionResult)


class ReservedUrlParams:
    """The query parameters that mcp-ui hosts add to the URL of a page."""

    WAIT_FOR_RENDER_DATA = "waitForRenderData"


class InternalMessageType:
    """The messages between an mcp-ui widget and its host, except the actions."""

    UI_MESSAGE_RECEIVED = "ui-message-received"
    UI_MESSAGE_RESPONSE = "ui-message-response"
    UI_SIZE_CHANGE = "ui-size-change"
    UI_LIFECYCLE_IFRAME_READY = "ui-lifecycle-iframe-ready"
    UI_LIFECYCLE_IFRAME_RENDER_DATA = "ui-lifecycle-iframe-render-data"


def validate_uri(uri: str) -> bool:
    """Return whether a URI is a `ui://` URI."""
    return uri.startswith(URI_SCHEME)


def serialize_ui_resource(ui_resource: UIResource) -> dict[str, Any]:
    """Return the wire form of a resource."""
    return ui_resource.to_dict()


def create_mcp_tool_result_content(ui_resource: UIResource) -> dict[str, Any]:
    """Return a resource as a content item of a tool result."""
    return ui_resource.to_dict()


def serialize_ui_action_result(action_result: UIActionResult) -> str:
    """Return an action as JSON."""
    return action_result.model_dump_json(exclude_none=True)


def deserialize_ui_action_result(json_str: str) -> UIActionResult:
    """Parse an action from JSON, or raise ValueError."""
    try:
        data = json.loads(json_str)
    except json.JSONDecodeError as error:
        raise ArgumentError(f"Invalid JSON: {error}") from error
    if not isinstance(data, Mapping) or not {"type", "payload"} <= data.keys():
        raise ArgumentError("A UI action has a type and a payload.")
    try:
        return _ACTION.validate_python(data)
    except ValidationError as error:
        raise ArgumentError(f"Not a UI action: {error}") from error


def create_iframe_communication_script() -> str:
    """Return the script that defines `window.mcpUI` in a widget."""
    return browser.script("mcpui-widget.js")


def wrap_html_with_communication(html_content: str, include_script: bool = True) -> str:
    """Return HTML with a script that defines `window.mcpUI`: `postMessage(data)` and `onMessage(callback)`."""
    if not include_script:
        return html_content
    at = first_script(html_content)
    element = f"<script>{create_iframe_communication_script()}</script>"
    return f"{html_content[:at]}{element}{html_content[at:]}"
