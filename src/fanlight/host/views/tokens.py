"""Tokens that let a page open a View: random, stored only as digests, valid for a limited time."""

import hashlib
import secrets
import time

from fanlight.host.store.base import Store


class ViewTokens:
    """Issues and checks the tokens of Views.

    A View can have several, one for each page that was made for it. Each use of a token renews it, and so does each
    page that stays connected, so that it can reconnect.
    """

    def __init__(self, store: Store, lifetime: float) -> None:
        self._store = store
        self._lifetime = lifetime
        # The digest of the token that a View was opened with last.
        self._used: dict[str, str] = {}

    @property
    def renewal_interval(self) -> float:
        """How often `renew` has to be called for a page that stays connected, in seconds."""
        return max(self._lifetime / 4, 0.05)

    async def issue(self, view: str) -> str:
        """Return a new token for a View."""
        token = secrets.token_urlsafe(24)
        await self._keep(view, _digest(token))
        return token

    async def check(self, view: str, token: str | None) -> bool:
        """Return whether a token opens a View, and renew it if so, now and while a page stays connected."""
        if token is None or not await self.is_valid(view, token):
            return False
        self._used[view] = _digest(token)
        return True

    async def is_valid(self, view: str, token: str) -> bool:
        """Return whether a token belongs to a View, and renew it if so."""
        if not await self._store.has_token(digest := _digest(token), view, time.time()):
            return False
        await self._keep(view, digest)
        return True

    async def renew(self, view: str) -> None:
        """Renew the token with which a View was opened last."""
        if (digest := self._used.get(view)) is not None:
            await self._keep(view, digest)

    def forget(self, view: str) -> None:
        """Do not renew a token of a View whose session has ended."""
        self._used.pop(view, None)

    async def _keep(self, view: str, digest: str) -> None:
        await self._store.add_token(digest, view, time.time() + self._lifetime)


def _digest(token: str) -> str:
    # The tokens are random, so a plain hash cannot be guessed backwards. The lookup compares digests, not tokens.
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
