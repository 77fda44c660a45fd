"""What `mcp_ui_server.utils` documents, under the same name, so that code which imports it goes on working."""

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
    """What hosts of mcp-ui add to the address of a page."""

    WAIT_FOR_RENDER_DATA = "waitForRenderData"


class InternalMessageType:
    """The messages between a widget and a host of mcp-ui, besides the actions."""

    UI_MESSAGE_RECEIVED = "ui-message-received"
    UI_MESSAGE_RESPONSE = "ui-message-response"
    UI_SIZE_CHANGE = "ui-size-change"
    UI_LIFECYCLE_IFRAME_READY = "ui-lifecycle-iframe-ready"
    UI_LIFECYCLE_IFRAME_RENDER_DATA = "ui-lifecycle-iframe-render-data"


def validate_uri(uri: str) -> bool:
    """Tell whether a URI is a `ui://` URI."""
    return uri.startswith(URI_SCHEME)


def serialize_ui_resource(ui_resource: UIResource) -> dict[str, Any]:
    """Return a resource as it goes over the wire."""
    return ui_resource.to_dict()


def create_mcp_tool_result_content(ui_resource: UIResource) -> dict[str, Any]:
    """Return a resource as an item of a tool result's content."""
    return ui_resource.to_dict()


def serialize_ui_action_result(action_result: UIActionResult) -> str:
    """Write an action as JSON."""
    return action_result.model_dump_json(exclude_none=True)


def deserialize_ui_action_result(json_str: str) -> UIActionResult:
    """Read an action from JSON, or raise ValueError."""
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
    """Return the script that gives a widget `window.mcpUI`."""
    return browser.script("mcpui-widget.js")


def wrap_html_with_communication(html_content: str, include_script: bool = True) -> str:
    """Return HTML that has `window.mcpUI`, with `postMessage(data)` and `onMessage(callback)`."""
    if not include_script:
        return html_content
    at = first_script(html_content)
    element = f"<script>{create_iframe_communication_script()}</script>"
    return f"{html_content[:at]}{element}{html_content[at:]}"
