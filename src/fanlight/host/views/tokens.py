"""Tokens that let a page open a View: random, stored only as digests, valid for a limited time."""

import hashlib
import secrets
import time

from fanlight.host.store.base import Store


class ViewTokens:
    """Issues and checks the tokens of Views.

    A View can have several, one for each page that was made for it. Each use of a token renews it, so that a page
    which stays open can reconnect.
    """

    def __init__(self, store: Store, lifetime: float) -> None:
        self._store = store
        self._lifetime = lifetime

    async def issue(self, view: str) -> str:
        """Return a new token for a View."""
        token = secrets.token_urlsafe(24)
        await self._renew(view, token)
        return token

    async def check(self, view: str, token: str | None) -> bool:
        """Return whether a token opens a View, and renew it if so."""
        if token is None or not await self._store.has_token(_digest(token), view, time.time()):
            return False
        await self._renew(view, token)
        return True

    async def _renew(self, view: str, token: str) -> None:
        await self._store.add_token(_digest(token), view, time.time() + self._lifetime)


def _digest(token: str) -> str:
    # The tokens are random, so a plain hash cannot be guessed backwards. The lookup compares digests, not tokens.
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
