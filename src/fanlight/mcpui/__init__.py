"""A replacement for `mcp_ui_server`: change the import, and code written for mcp-ui keeps working.

Return the result of `create_ui_resource` from a tool, as in mcp-ui, or pass it to `apps.tool(view=...)`.
"""

from fanlight.mcpui.actions import (
    UIActionResult,
    UIActionResultIntent,
    UIActionResultLink,
    UIActionResultNotification,
    UIActionResultPrompt,
    UIActionResultToolCall,
    UIActionType,
    ui_action_result_intent,
    ui_action_result_link,
    ui_action_result_notification,
    ui_action_result_prompt,
    ui_action_result_tool_call,
)
from fanlight.mcpui.adapters import get_adapter_mime_type, wrap_html_with_adapters
from fanlight.mcpui.exceptions import EncodingError, InvalidContentError, InvalidURIError, MCPUIServerError
from fanlight.mcpui.resource import (
    UI_METADATA_PREFIX,
    URI,
    CreateUIResourceOptions,
    MimeType,
    ResourceContentPayload,
    UIMetadataKey,
    UIResource,
    create_ui_resource,
)

__all__ = [
    "UI_METADATA_PREFIX",
    "URI",
    "CreateUIResourceOptions",
    "EncodingError",
    "InvalidContentError",
    "InvalidURIError",
    "MCPUIServerError",
    "MimeType",
    "ResourceContentPayload",
    "UIActionResult",
    "UIActionResultIntent",
    "UIActionResultLink",
    "UIActionResultNotification",
    "UIActionResultPrompt",
    "UIActionResultToolCall",
    "UIActionType",
    "UIMetadataKey",
    "UIResource",
    "create_ui_resource",
    "get_adapter_mime_type",
    "ui_action_result_intent",
    "ui_action_result_link",
    "ui_action_result_notification",
    "ui_action_result_prompt",
    "ui_action_result_tool_call",
    "wrap_html_with_adapters",
]
