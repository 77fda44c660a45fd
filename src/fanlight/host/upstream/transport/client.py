"""Opens the SDK's client for one attempt at a connection."""

from dataclasses import dataclass
from typing import cast

import mcp_types as types
from mcp.client import Client, ClientExtension, Transport, advertise
from mcp.client.session import MessageHandlerFnT

from fanlight import __version__
from fanlight.host.upstream.callbacks import Handler, elicitation_callback, sampling_callback
from fanlight.host.upstream.callers import Callers
from fanlight.host.upstream.config import InProcess, Target
from fanlight.host.upstream.transport.open import Attempt, open_transport
from fanlight.host.upstream.transport.process import Launcher
from fanlight.protocol.extension import EXTENSION_ID, OLDER_EXTENSION_ID, OLDER_SETTINGS, SERVER_SETTINGS


@dataclass
class ClientFactory:
    """Opens clients for the connection to one server. Changes apply to the next client."""

    server: str
    callers: Callers
    mode: str
    client_info: types.Implementation | None
    on_sampling: Handler | None
    on_elicitation: Handler | None
    dialects: bool
    shows_views: bool = True
    """Whether the extension is advertised."""
    launcher: Launcher | None = None
    """Starts the process of a server that is a command."""

    def open(self, target: Target, attempt: Attempt, on_notification: MessageHandlerFnT) -> Client:
        """Return a client for a target, to be entered with `async with`."""
        server, callers = self.server, self.callers
        return Client(
            target.server
            if isinstance(target, InProcess)
            else cast(Transport, open_transport(target, attempt, self.launcher)),
            mode=self.mode,
            cache=None,  # the connection keeps raw results, and knows when they are stale
            client_info=self.client_info or types.Implementation(name="fanlight", version=__version__),
            extensions=self._extensions(),
            message_handler=on_notification,
            sampling_callback=self.on_sampling and sampling_callback(server, callers, self.on_sampling),
            sampling_capabilities=types.SamplingCapability(tools=types.SamplingToolsCapability()),
            elicitation_callback=self.on_elicitation and elicitation_callback(server, callers, self.on_elicitation),
        )

    def _extensions(self) -> list[ClientExtension]:
        """Return the extensions to advertise (NEG-01): ours, also under the name of its first draft."""
        if not self.shows_views:
            return []
        own = advertise(EXTENSION_ID, dict(SERVER_SETTINGS))
        return [own, advertise(OLDER_EXTENSION_ID, dict(OLDER_SETTINGS))] if self.dialects else [own]
