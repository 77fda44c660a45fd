"""The arguments of `Host`, validated."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from fanlight.host.bus.base import Bus
from fanlight.host.consent.audit import Keep
from fanlight.host.consent.policy import Policy
from fanlight.host.settings import Limits, Profile, Retention, Timeouts
from fanlight.host.store.base import Store
from fanlight.host.upstream.auth.credentials import Credentials
from fanlight.host.upstream.auth.oauth import UserOAuth
from fanlight.host.upstream.callbacks import Handler
from fanlight.host.validation import check_callable, check_info, check_object
from fanlight.host.web.users import Authorize, Identify
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.jsonrpc import JSONObject

_TYPES: Mapping[str, type] = {
    "policy": Policy,
    "timeouts": Timeouts,
    "limits": Limits,
    "profile": Profile,
    "retention": Retention,
    "oauth": UserOAuth,
}
_SIGNATURES: Mapping[str, str] = {
    "user": "user(connection) -> str | None",
    "credentials": "async (user, server) -> headers, httpx2.Auth, environment or None",
    "authorize": "authorize(websocket, view) -> bool",
    "on_server_sampling": "async (request) -> result",
    "on_elicitation": "async (request) -> result",
}


@dataclass(frozen=True)
class HostOptions:
    """The keyword arguments of `Host`, which documents them. Invalid ones raise ArgumentError."""

    store: Store | str | None
    bus: Bus | str | None
    sandbox_origin: str | None
    info: JSONObject | None
    context: JSONObject | None
    policy: Policy | None
    hosts: Collection[str] | None
    origins: Collection[str]
    user: Identify | None
    credentials: Credentials | None
    oauth: UserOAuth | None
    authorize: Authorize | None
    timeouts: Timeouts | None
    limits: Limits | None
    retention: Retention | None
    dialects: bool
    profile: Profile | None
    report_errors: bool
    audit_arguments: Keep
    on_server_sampling: Handler | None
    on_elicitation: Handler | None

    def __post_init__(self) -> None:
        for name, kind in _TYPES.items():
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise ArgumentError(f"{name} is {value!r}, expected a {kind.__name__}. Write {kind.__name__}(...).")
        for name, signature in _SIGNATURES.items():
            check_callable(name, getattr(self, name), signature)
        if self.oauth is not None and self.user is None:
            raise ArgumentError("oauth needs the user of each browser. Write Host(..., user=identify, oauth=...).")
        if self.info is not None:
            check_info(self.info)
        if self.context is not None:
            check_object("context", self.context, '{"theme": "dark"}')
