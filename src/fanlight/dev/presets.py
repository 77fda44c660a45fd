"""What known hosts offer, as far as others have seen it: to look at an app as they would show it.

Captured by third parties on the dates given, from one build of each host: hints, not promises. How a host lays a page
out, which fonts and colours it has and what its own policy adds is not imitated.
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
    """A host to be like."""

    name: str
    seen: str
    """When it was looked at."""
    profile: Profile
    context: dict[str, Any] = field(default_factory=dict)
    """What its Views are told, whatever the stage is set to."""
    differs: tuple[str, ...] = ()
    """What a developer should know, in sentences."""


PRESETS: Final = {
    "fanlight": Preset("Fanlight", "", Profile(), differs=("All that the standard has.",)),
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
            "A View gets a column of 720 pixels, and may be 5,000 high.",
            "Connects with the older handshake (2025-11-25).",
            "Its apps for macOS and iOS apply other policies than its web page.",
            "A domain that it does not know can keep a View from being shown at all.",
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
            "Inline, a View is 400 pixels high and at most 768 wide.",
            "No downloads.",
            "Also gives Views window.openai, and lets the model read structuredContent.",
            "Adds domains of its own to what a View may reach.",
            "Sometimes a View gets no tool-input or no tool-result, and cannot ask again.",
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
            "Inline only, in a column of about 494 pixels, at most 720 high.",
            "A View cannot put messages into the conversation.",
            "Text is not among what it says the model context may hold.",
            "Views are not told which tool they belong to.",
        ),
    ),
    "goose": Preset(
        "Goose",
        "1.38",
        Profile(
            info={"name": "MCP-UI Host", "version": "1.0.0"},
            capabilities={"openLinks": {}},
            silent=(_PARTIAL, _CANCELLED, _CONTEXT, _TEARDOWN),
        ),
        {"platform": "desktop"},
        (
            "Advertises links only. Tools are served all the same, so a View must not rely on capabilities.",
            "Sends no partial input, no cancellation, no change of context and no teardown.",
            "Ignores the permissions and frames that a View declares.",
        ),
    ),
    "none": Preset(
        "A host without Views",
        "",
        Profile(extension=False),
        differs=("Does not advertise MCP Apps: the server shows text, and hides what is only for Views.",),
    ),
}
