"""The stage: the host context that Views get, their display mode, and the host that is imitated."""

from typing import Final

from starlette.routing import Route

from fanlight.dev.api import BadRequestError, get, post, text
from fanlight.dev.events import Events
from fanlight.dev.presets import PRESETS
from fanlight.dev.styles import DEFAULT_STYLES, STYLES
from fanlight.host import Host
from fanlight.host.host import runtime_of
from fanlight.protocol.jsonrpc import JSONObject

_SETTINGS: Final = frozenset(
    {"theme", "locale", "timeZone", "containerDimensions", "safeAreaInsets", "deviceCapabilities"}
)


class StagePanel:
    """Sets where and how Views are shown."""

    def __init__(self, host: Host, events: Events) -> None:
        self._host = host
        self._runtime = runtime_of(host)
        self._events = events
        self._settings: JSONObject = {}
        self._styles = DEFAULT_STYLES
        self.preset = "fanlight"
        self._apply()

    def routes(self) -> list[Route]:
        """Return the routes of this panel."""
        return [
            get("presets", self._list_presets),
            post("stage", self._change_settings),
            post("mode", self._change_mode),
            post("host", self._change_host),
        ]

    async def _list_presets(self, query: JSONObject) -> JSONObject:
        return {
            id: {
                "name": preset.name,
                "observed": preset.observed,
                "differences": preset.differences,
                "modes": list(preset.profile.display_modes),
                "container": preset.context.get("containerDimensions"),
            }
            for id, preset in PRESETS.items()
        }

    async def _change_settings(self, body: JSONObject) -> JSONObject:
        """Change the host context of all Views; a setting that is null is left to the page."""
        styles = body.get("styles", DEFAULT_STYLES)
        if styles not in STYLES:
            raise BadRequestError(f"styles is {styles!r}, expected one of {', '.join(STYLES)}.")
        reload = styles != self._styles
        self._styles = styles
        self._settings = {key: value for key, value in body.items() if key in _SETTINGS and value is not None}
        self._apply()
        if reload:
            # A View keeps the variables that it got once, until it is loaded again.
            await self._reload_views()
        return {}

    def _apply(self) -> None:
        unset = dict.fromkeys((*_SETTINGS, "platform"))
        context = PRESETS[self.preset].context
        self._runtime.views.pin_context({**unset, **context, **self._settings, "styles": STYLES[self._styles]})

    async def _reload_views(self) -> None:
        for name in self._host.servers:
            await self._host.reload_views(name)

    async def _change_mode(self, body: JSONObject) -> JSONObject:
        await self._runtime.show_as(text(body, "view"), text(body, "mode"))
        return {}

    async def _change_host(self, body: JSONObject) -> JSONObject:
        """Imitate another host, and reload the open Views."""
        preset = text(body, "preset")
        if preset not in PRESETS:
            raise BadRequestError(f"There is no preset {preset!r}. The presets are: {', '.join(PRESETS)}.")
        self.preset = preset
        self._runtime.set_profile(PRESETS[preset].profile)
        self._apply()
        await self._reload_views()
        self._events.publish("preset", {"preset": preset})
        return {}
