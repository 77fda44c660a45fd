"""Notices that another process uses the same store without a bus, which loses calls and messages."""

import logging
import random
import secrets
import time
from collections.abc import Callable
from typing import Final

import anyio

from fanlight.host.errors import StoreError
from fanlight.host.store.base import Store

logger = logging.getLogger(__name__)

INTERVAL: Final = 5.0
"""How many seconds pass between two looks."""

_KEY: Final = "process without a bus"
_EXPIRES: Final = 60.0


class SharingCheck:
    """Writes the id of this process into the store again and again, and warns once if another process does so, too.

    A process that has ended writes no more, so a restart is not mistaken for a second process.

    Args:
        store: The store of this host.
        is_draining: Returns whether this process stops, and another may take its place already.
    """

    def __init__(self, store: Store, is_draining: Callable[[], bool]) -> None:
        self._store = store
        self._is_draining = is_draining
        self._id = secrets.token_hex(8).encode()

    async def run(self) -> None:
        """Look until cancelled."""
        is_written = is_warned = False
        while not self._is_draining():
            try:
                found = await self._store.take_payload(_KEY)
                await self._store.put_payload(_KEY, self._id, time.time() + _EXPIRES)
            except StoreError:
                is_written = False
            else:
                if is_written and not is_warned and found not in (None, self._id):
                    _warn()
                    is_warned = True
                is_written = True
            # Of two that look at the same moments, one would never find what the other has written.
            await anyio.sleep(INTERVAL * random.uniform(0.5, 1.5))  # noqa: S311


def _warn() -> None:
    logger.warning(
        "Another process uses the store of this host, and no bus connects the two: what happens in one does not "
        "reach the pages of the other, and each start cancels the calls of the others. "
        'Write Host(..., bus="redis://..."), or give each program a store of its own'
    )
