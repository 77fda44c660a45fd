"""Background work: an error in it is logged, and does not end the task group that it runs in."""

import logging
from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)


async def log_errors(work: Callable[..., Awaitable[object]], *arguments: object) -> None:
    """Await some work, and log its error instead of raising it."""
    try:
        await work(*arguments)
    except Exception:
        logger.exception("Unhandled error in the background task %s", getattr(work, "__qualname__", work))
