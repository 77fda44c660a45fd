"""What a host offers of all that Fanlight can do."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

JSONObject = dict[str, Any]


@dataclass(frozen=True)
class Profile:
    """Narrows what Views and servers are offered, to be like another host. Without arguments it narrows nothing."""

    info: Mapping[str, Any] | None = None
    """What the host calls itself; None: what `Host(info=...)` says."""
    capabilities: Mapping[str, Any] | None = None
    """The `hostCapabilities` that Views are told of, less those that this host lacks; None: all it has."""
    refused: Collection[str] = ()
    """Capabilities that are not served either. What is only untold is served all the same, as some hosts do."""
    display_modes: Collection[str] = ("inline", "fullscreen", "pip")
    """The display modes that a View may have."""
    silent: Collection[str] = ()
    """Methods that are never sent to Views."""
    withheld: Collection[str] = ()
    """Keys of the host context that Views are not told, such as "toolInfo"."""
    extension: bool = True
    """Whether servers are told that Views can be shown. One that is not shows text."""

    def served(self, capabilities: JSONObject) -> JSONObject:
        """Return what is served of the capabilities that the host has."""
        return {name: value for name, value in capabilities.items() if name not in self.refused}

    def advertised(self, capabilities: JSONObject) -> JSONObject:
        """Return what Views are told of the capabilities that are served."""
        if self.capabilities is None:
            return capabilities
        return {name: value for name, value in self.capabilities.items() if name in capabilities}

    def told(self, context: JSONObject) -> JSONObject:
        """Return what of a context is told."""
        modes = [mode for mode in context.get("availableDisplayModes", ()) if mode in self.display_modes]
        told = {key: value for key, value in context.items() if key not in self.withheld}
        return {**told, "availableDisplayModes": modes} if "availableDisplayModes" in told else told
