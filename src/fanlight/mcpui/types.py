"""The names of `mcp_ui_server.types`, for code that imports them from there."""

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
