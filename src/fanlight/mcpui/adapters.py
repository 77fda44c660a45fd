"""Adapters: scripts that let an mcp-ui widget run in a host that does not support mcp-ui."""

from collections.abc import Mapping
from typing import Any

from fanlight import browser
from fanlight.mcpui.exceptions import InvalidContentError
from fanlight.protocol.extension import MIME_TYPE
from fanlight.server.bundle.document import first_script

SKYBRIDGE_MIME_TYPE = "text/html+skybridge"

_NAMES = ("appsSdk", "mcpApps")
_INTENTS = ["prompt", "ignore"]


def get_adapter_mime_type(adapters: Mapping[str, Any] | None) -> str | None:
    """Return the MIME type of HTML with the enabled adapter, or None if none is enabled."""
    match _enabled(adapters):
        case "appsSdk", options:
            return str(options.get("mimeType") or SKYBRIDGE_MIME_TYPE)
        case "mcpApps", _:
            return MIME_TYPE
        case _:
            return None


def wrap_html_with_adapters(
    html: str, adapters: Mapping[str, Any] | None, render_data: Mapping[str, Any] | None = None
) -> str:
    """Return HTML with the script of the enabled adapter before its own scripts, or unchanged if none is enabled."""
    if _enabled(adapters) is None:
        return html
    at = first_script(html)
    return f"{html[:at]}<script>{adapter_script(adapters, render_data)}</script>{html[at:]}"


def adapter_script(
    adapters: Mapping[str, Any] | None, render_data: Mapping[str, Any] | None, frame: str | None = None
) -> str:
    """Return the script of the adapter, by default the one for MCP Apps. `frame` is the id of the widget's frame."""
    name, options = _enabled(adapters) or ("mcpApps", {})
    config = options.get("config") or {}
    settings = {
        "frame": frame,
        "renderData": dict(render_data or {}),
        "structured": name == "appsSdk",
        "timeout": config.get("timeout"),
        "intents": config.get("intentHandling"),
    }
    known = {key: value for key, value in settings.items() if value is not None}
    return browser.mcpui_adapter(known, openai=name == "appsSdk")


def _enabled(adapters: Mapping[str, Any] | None) -> tuple[str, Mapping[str, Any]] | None:
    """Return the enabled adapter and its options. At most one is enabled, because a resource has one MIME type."""
    if adapters is None:
        return None
    if not isinstance(adapters, Mapping):
        raise InvalidContentError(f'adapters is {adapters!r}, not a dict. Write {{"mcpApps": {{"enabled": True}}}}.')
    for name, options in adapters.items():
        if name not in _NAMES:
            raise InvalidContentError(f"There is no adapter {name!r}. There are {' and '.join(_NAMES)}.")
        if options is not None and not isinstance(options, Mapping):
            raise InvalidContentError(f'adapters[{name!r}] is {options!r}, not a dict. Write {{"enabled": True}}.')
        _check(name, options or {})
    enabled = [(name, options) for name, options in adapters.items() if options and options.get("enabled")]
    if len(enabled) > 1:
        raise InvalidContentError(
            "Both adapters are enabled, and a resource has one MIME type. Leave mcpApps out: with appsSdk the widget "
            "runs in MCP Apps hosts too."
        )
    return enabled[0] if enabled else None


def _check(name: str, options: Mapping[str, Any]) -> None:
    """Raise InvalidContentError if an option of an adapter has the wrong type."""
    config = options.get("config") or {}
    if not isinstance(config, Mapping):
        raise InvalidContentError(f"adapters[{name!r}].config is {config!r}, not a dict.")
    for name_of_option, value, expected, is_valid in (
        ("enabled", options.get("enabled"), "True or False", lambda value: isinstance(value, bool)),
        ("config.timeout", config.get("timeout"), "milliseconds", _is_number),
        ("config.intentHandling", config.get("intentHandling"), '"prompt" or "ignore"', _INTENTS.__contains__),
    ):
        if value is not None and not is_valid(value):
            raise InvalidContentError(f"adapters[{name!r}].{name_of_option} is {value!r}, expected {expected}.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
