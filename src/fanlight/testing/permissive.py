"""The policy of tests that set none: Views may do whatever they request."""

from collections.abc import Mapping
from typing import Any, Final, get_args

from fanlight.protocol.metadata import Permission

ALLOW_ALL: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("tools", "app_tools", "links", "downloads", "messages", "sampling"), "allow"),
    "permissions": get_args(Permission),
}
"""The rules for `Policy`."""
