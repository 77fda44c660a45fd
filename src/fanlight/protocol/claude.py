"""The `domain` of Views that Claude accepts."""

import hashlib
import re
from typing import Final
from urllib.parse import urlsplit

from fanlight.protocol.errors import ArgumentError

CLAUDE_CONTENT: Final = "claudemcpcontent.com"
"""The domain under which Claude serves Views."""

_CLAUDE_DOMAIN: Final = re.compile(r"[0-9a-f]{32}\." + re.escape(CLAUDE_CONTENT))


def claude_domain(url: str) -> str:
    """Return the `domain` under which Claude serves the Views of the server at `url`.

    It depends on the exact URL that users add to Claude as a connector: another path, port or trailing slash is another
    domain.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ArgumentError(
            f"{url!r} is not the URL of a server. "
            'Write the URL that users add to Claude, such as claude_domain("https://example.com/mcp").'
        )
    return f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.{CLAUDE_CONTENT}"


def is_claude_domain(domain: str) -> bool:
    """Return whether a domain has the form that Claude's documentation asks for."""
    return _CLAUDE_DOMAIN.fullmatch(domain) is not None
