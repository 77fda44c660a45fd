"""Older words of Views, in today's words. One table, read at the edge; nothing else knows them.

    older                                   today
    initialize                              ui/initialize, with appInfo for clientInfo, appCapabilities for capabilities
    notifications/initialized               ui/notifications/initialized
    ui/size-change                          ui/notifications/size-changed
    ui/notifications/size-change            ui/notifications/size-changed

The first two are in the sample code of the first draft and of guides that followed it.
"""

from typing import Any, Final

Message = dict[str, Any]

_METHODS: Final = {
    "initialize": "ui/initialize",
    "notifications/initialized": "ui/notifications/initialized",
    "ui/size-change": "ui/notifications/size-changed",
    "ui/notifications/size-change": "ui/notifications/size-changed",
}
_INITIALIZE_KEYS: Final = {"clientInfo": "appInfo", "capabilities": "appCapabilities"}


def from_view(message: Message) -> tuple[Message, str | None]:
    """Return a View's message in today's words, and the older word if it used one."""
    method = message.get("method")
    today = _METHODS.get(method) if isinstance(method, str) else None
    if today is None:
        return message, None
    translated = {**message, "method": today}
    params = message.get("params")
    if method == "initialize" and isinstance(params, dict):
        translated["params"] = {_INITIALIZE_KEYS.get(key, key): value for key, value in params.items()}
    return translated, method
