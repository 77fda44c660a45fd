"""The names of `mcp_ui_server.core`, for code that imports them from there."""

from fanlight.mcpui.actions import (
    ui_action_result_intent,
    ui_action_result_link,
    ui_action_result_notification,
    ui_action_result_prompt,
    ui_action_result_tool_call,
)
from fanlight.mcpui.resource import UIResource, create_ui_resource

__all__ = [
    "UIResource",
    "create_ui_resource",
    "ui_action_result_intent",
    "ui_action_result_link",
    "ui_action_result_notification",
    "ui_action_result_prompt",
    "ui_action_result_tool_call",
]
