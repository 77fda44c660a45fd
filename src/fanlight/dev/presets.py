"""Presets that imitate known hosts: their capabilities, display modes, column width, and what they omit.

Third parties observed them on the dates given, in one build of each host. They are hints, not promises. A host's
layout, its fonts and colors, and what it adds to a View's policy are not imitated.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from fanlight.host import Profile

_PARTIAL: Final = "ui/notifications/tool-input-partial"
_CANCELLED: Final = "ui/notifications/tool-cancelled"
_CONTEXT: Final = "ui/notifications/host-context-changed"
_TEARDOWN: Final = "ui/resource-teardown"


@dataclass(frozen=True)
class Preset:
    """A host to imitate."""

    name: str
    observed: str
    """When, or in which version, it was observed."""
    profile: Profile
    context: dict[str, Any] = field(default_factory=dict)
    """The host context that its Views get, unless the developer changes it."""
    differences: tuple[str, ...] = ()
    """How it differs from other hosts, in sentences."""


PRESETS: Final = {
    "fanlight": Preset("Fanlight", "", Profile(), differences=("Everything in the standard.",)),
    "claude": Preset(
        "Claude",
        "May 2026",
        Profile(
            info={"name": "Claude", "version": "1.0.0"},
            capabilities={
                "openLinks": {},
                "downloadFile": {},
                "serverTools": {"listChanged": True},
                "serverResources": {"listChanged": True},
                "logging": {},
                "updateModelContext": {"text": {}, "image": {}},
                "message": {"text": {}},
            },
            display_modes=("inline", "fullscreen"),
        ),
        {"platform": "web", "containerDimensions": {"width": 720, "maxHeight": 5000}},
        (
            "No picture-in-picture.",
            "A View gets a column 720 pixels wide, and may be 5,000 pixels high.",
            "Connects with the older handshake (2025-11-25).",
            "Its apps for macOS and iOS apply different policies from its web page.",
            "A View that declares a domain it does not know may not be shown at all.",
        ),
    ),
    "chatgpt": Preset(
        "ChatGPT",
        "May 2026",
        Profile(
            info={"name": "chatgpt", "version": "0.0.1"},
            capabilities={
                "openLinks": {},
                "serverTools": {},
                "serverResources": {},
                "logging": {},
                "message": {},
                "updateModelContext": {},
            },
            refused=("downloadFile",),
        ),
        {"platform": "desktop", "containerDimensions": {"height": 400, "maxWidth": 768}},
        (
            "Inline, a View is 400 pixels high and at most 768 pixels wide.",
            "No downloads.",
            "Also provides window.openai to Views, and lets the model read structuredContent.",
            "Lets Views reach some domains of its own as well.",
            "Sometimes a View gets no tool-input or no tool-result, and cannot request it again.",
        ),
    ),
    "vscode": Preset(
        "VS Code",
        "1.130",
        Profile(
            info={"name": "Visual Studio Code", "version": "1.130.0"},
            capabilities={
                "openLinks": {},
                "serverTools": {"listChanged": True},
                "serverResources": {"listChanged": True},
                "logging": {},
                "updateModelContext": {
                    "audio": {},
                    "image": {},
                    "resourceLink": {},
                    "resource": {},
                    "structuredContent": {},
                },
                "downloadFile": {},
            },
            refused=("message",),
            display_modes=("inline",),
            withheld=("toolInfo",),
        ),
        {"platform": "desktop", "containerDimensions": {"width": 494, "maxHeight": 720}},
        (
            "Inline only, in a column about 494 pixels wide and at most 720 pixels high.",
            "A View cannot add messages to the conversation.",
            "Does not list text among the content types of updateModelContext.",
            "Views do not learn which tool they belong to.",
        ),
    ),
    "goose": Preset(
        "Goose",
        "1.38",
        Profile(
            info={"name": "MCP-UI Host", "version": "1.0.0"},
            capabilities={"openLinks": {}},
            suppressed=(_PARTIAL, _CANCELLED, _CONTEXT, _TEARDOWN),
        ),
        {"platform": "desktop"},
        (
            "Advertises links only, but serves tools as well, so a View must not rely on capabilities.",
            "Sends no partial input, cancellations, context changes or teardown.",
            "Ignores the permissions and frame domains that a View declares.",
        ),
    ),
    "none": Preset(
        "A host without Views",
        "",
        Profile(extension=False),
        differences=("Does not advertise MCP Apps, so servers respond with text and hide tools that are for Views.",),
    ),
}
