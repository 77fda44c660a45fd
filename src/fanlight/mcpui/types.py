"""What `mcp_ui_server.types` has, under the same name, so that code which imports it goes on working."""

from fanlight.mcpui.actions import (
    UIActionResult,
    UIActionResultIntent,
    UIActionResultLink,
    UIActionResultNotification,
    UIActionResultPrompt,
    UIActionResultToolCall,
    UIActionType,
)
from fanlight.mcpui.resource import (
    UI_METADATA_PREFIX,
    URI,
    CreateUIResourceOptions,
    ExternalUrlPayload,
    MimeType,
    RawHtmlPayload,
    RemoteDomPayload,
    ResourceContentPayload,
    UIMetadataKey,
)

__all__ = [
    "UI_METADATA_PREFIX",
    "URI",
    "CreateUIResourceOptions",
    "ExternalUrlPayload",
    "MimeType",
    "RawHtmlPayload",
    "RemoteDomPayload",
    "ResourceContentPayload",
    "UIActionResult",
    "UIActionResultIntent",
    "UIActionResultLink",
    "UIActionResultNotification",
    "UIActionResultPrompt",
    "UIActionResultToolCall",
    "UIActionType",
    "UIMetadataKey",
]
