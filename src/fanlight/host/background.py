"""Work that nobody waits for. What goes wrong in it is logged, and ends nothing else: above all not the host."""

import logging
from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)


async def guarded(work: Callable[..., Awaitable[object]], *arguments: object) -> None:
    """Do some work, and log what goes wrong in it."""
    try:
        await work(*arguments)
    except Exception:
        logger.exception("%s failed in the background", getattr(work, "__qualname__", work))
