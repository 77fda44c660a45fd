"""The OAuth tokens of a user for a server, and the registration of the program that they belong to, in a `Store`."""

from typing import Any, TypeVar

from mcp.client.auth import OAuthFlowError
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import BaseModel

from fanlight.host.store.base import Store
from fanlight.protocol.jsonrpc import JSONObject

Model = TypeVar("Model", bound=BaseModel)


class UserTokens:
    """The tokens and the registration of one user at one server, in a `Store`."""

    def __init__(
        self, store: Store, user: str, server: str, url: str, registration: OAuthClientInformationFull | None = None
    ) -> None:
        self.user = user
        self.server = server
        self.url = url
        self.is_erased = False
        """Whether the user was forgotten, so that nothing may be stored any more."""
        self.may_be_lost = registration is None
        """Whether the registration is one that the authorization server may have forgotten since it was stored."""
        self._store = store
        self._registration = registration

    async def _load(self) -> JSONObject:
        stored = await self._store.credentials(self.user, self.server) or {}
        # A name that leads to another address now is another server, which must not see the tokens.
        return stored if stored.get("url") == self.url and not self.is_erased else {"url": self.url}

    async def _save(self, stored: JSONObject) -> None:
        if not self.is_erased:
            await self._store.set_credentials(self.user, self.server, stored)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the registration of the program, or None if it has not been registered yet."""
        if self._registration is not None:
            return self._registration
        client = (await self._load()).get("client")
        return None if client is None else OAuthClientInformationFull.model_validate(client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store a new registration."""
        if self._registration is not None:
            raise OAuthFlowError(
                f"{self.server} names the authorization server {client_info.issuer}, but the client of the program is "
                f"registered at {self._registration.issuer}: correct the issuer in UserOAuth(clients=...)"
            )
        # Without the tokens, which belong to the registration that is replaced.
        await self._save({"url": self.url, "client": _dump(client_info)})
        self.may_be_lost = False

    async def drop_client_info(self) -> None:
        """Forget a registration that the authorization server does not know."""
        await self._save({"url": self.url})

    async def restore_tokens(self, context: OAuthContext) -> OAuthToken | None:
        """Return the stored tokens, and restore what the SDK needs to refresh them, which it does not store itself."""
        stored = await self._load()
        if "tokens" not in stored:
            return None
        context.token_expiry_time = stored.get("expires")
        context.auth_server_url = stored.get("issuer")
        context.oauth_metadata = _parse(OAuthMetadata, stored.get("metadata"))
        context.protected_resource_metadata = _parse(ProtectedResourceMetadata, stored.get("resource"))
        return OAuthToken.model_validate(stored["tokens"])

    async def store_tokens(self, tokens: OAuthToken, context: OAuthContext) -> None:
        """Store tokens, with what the SDK needs to refresh them."""
        known = {
            "tokens": _dump(tokens),
            "expires": context.token_expiry_time,
            "issuer": context.auth_server_url,
            "metadata": _dump(context.oauth_metadata),
            "resource": _dump(context.protected_resource_metadata),
        }
        await self._save({**await self._load(), **known})


def _dump(model: BaseModel | None) -> JSONObject | None:
    return None if model is None else model.model_dump(mode="json", exclude_none=True)


def _parse(kind: type[Model], stored: Any) -> Model | None:
    return None if stored is None else kind.model_validate(stored)
