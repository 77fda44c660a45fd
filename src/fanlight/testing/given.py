"""What tests give for a server and for a policy."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_args

from fanlight.dev.targets import servers as named_servers
from fanlight.protocol.errors import FanlightError
from fanlight.protocol.metadata import Permission

ALLOW: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("tools", "app_tools", "links", "downloads", "messages", "sampling"), "allow"),
    "permissions": get_args(Permission),
}
"""The rules where no policy is given: Views may do what they ask for."""


def served(server: object) -> object:
    """Return what `Host` takes for a server: a .py file, a folder or a .json file are made one, the rest is one."""
    if isinstance(server, Path) or (
        isinstance(server, str) and (server.endswith((".py", ".json")) or _is_folder(server))
    ):
        found = list(named_servers([str(server)]).values())
        if len(found) != 1:
            raise FanlightError(f"{server} names {len(found)} servers, expected one.")
        return found[0].target
    return server


def _is_folder(text: str) -> bool:
    return " " not in text and Path(text).is_dir()
