"""Which user a page belongs to, and what it may open, as the functions in `Host(user=, authorize=)` say."""

import inspect
import logging
from collections.abc import Awaitable, Callable

from starlette.requests import HTTPConnection
from starlette.websockets import WebSocket

from fanlight.host.errors import ViewRefusedError
from fanlight.host.validation import check_user

logger = logging.getLogger(__name__)

Identify = Callable[[HTTPConnection], Awaitable[str | None] | str | None]
"""Returns the user of a page from the cookies, headers or query of its connection, or None if it has none."""

Authorize = Callable[[WebSocket, str], Awaitable[bool] | bool]
"""Decides whether a socket may open the View with an id. Runs before any middleware of the application."""


async def user_of(identify: Identify | None, connection: HTTPConnection) -> str | None:
    """Return the user of a page, or None if the host knows no users. Raise ViewRefusedError if nobody signed in."""
    if identify is None:
        return None
    try:
        user = identify(connection)
        if inspect.isawaitable(user):
            user = await user
        check_user(user)
    except Exception:
        logger.exception("The function that Host(user=...) was given failed")
        raise ViewRefusedError("The host could not find out which user this page belongs to.") from None
    if user is None:
        raise ViewRefusedError("You are not signed in. Sign in and reload the page.")
    return user
