"""Which of its features a host offers."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from fanlight.protocol.jsonrpc import JSONObject


@dataclass(frozen=True)
class Profile:
    """What a host offers to Views and servers, to behave like another host. By default, everything it can do."""

    info: Mapping[str, Any] | None = None
    """The name and version that Views see. None means those of `Host(info=...)`."""
    capabilities: Mapping[str, Any] | None = None
    """The `hostCapabilities` that are advertised to Views, without those that this host lacks. None means all."""
    refused: Collection[str] = ()
    """Capabilities whose requests are refused. One that is merely not advertised still works, as in some hosts."""
    display_modes: Collection[str] = ("inline", "fullscreen", "pip")
    """The display modes that Views may use."""
    suppressed: Collection[str] = ()
    """Methods that are never sent to Views."""
    withheld: Collection[str] = ()
    """Keys of the host context that Views do not get, such as "toolInfo"."""
    extension: bool = True
    """Whether the MCP Apps extension is advertised to servers. Without it, servers answer in text."""

    def serve(self, capabilities: JSONObject) -> JSONObject:
        """Return the capabilities of the host whose requests are served."""
        return {name: value for name, value in capabilities.items() if name not in self.refused}

    def advertise(self, capabilities: JSONObject) -> JSONObject:
        """Return the capabilities to advertise to Views, of those that are served."""
        if self.capabilities is None:
            return capabilities
        return {name: value for name, value in self.capabilities.items() if name in capabilities}

    def limit_context(self, context: JSONObject) -> JSONObject:
        """Return the host context without the keys and display modes that Views do not get."""
        modes = [mode for mode in context.get("availableDisplayModes", ()) if mode in self.display_modes]
        limited = {key: value for key, value in context.items() if key not in self.withheld}
        return {**limited, "availableDisplayModes": modes} if "availableDisplayModes" in limited else limited
