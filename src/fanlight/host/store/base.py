"""The `Store` protocol, and the records that a store keeps."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Protocol

from fanlight.protocol.jsonrpc import JSONObject


@dataclass(frozen=True)
class ViewRecord:
    """The stored data of one View."""

    id: str
    """The id, for `<mcp-app view=...>`."""
    server: str
    """The server that the View comes from."""
    tool: str
    """The tool whose call opened the View."""
    uri: str
    """The `ui://` URI of the View."""
    conversation: str | None = None
    """The conversation of the call, or None."""
    user: str | None = None
    """The user that the View belongs to, or None in a program with one user."""
    created: float = 0.0
    """When the View was opened, in seconds since 1970."""
    arguments: JSONObject | None = None
    """The arguments of the call, or None while they are being written."""
    result: JSONObject | None = None
    """The result of the call, or None without one."""
    cancelled: str | None = None
    """The reason if the call was cancelled, otherwise None."""
    context: JSONObject | None = None
    """What the View wants the model to know: its last update."""
    context_is_new: bool = False
    """Whether the model has not been given `context` yet."""
    closed: bool = False
    """Whether the View was closed permanently."""
    state: Any = None
    """The state that a View for ChatGPT set with `setWidgetState`."""
    session: JSONObject | None = None
    """What another process needs to continue with a View that a page shows, or None if it has to be loaded again."""
    caller: str | None = None
    """The worker that runs the call, or None in a program with one process."""
    holder: str | None = None
    """The worker that has the session of the View, or None. Only this one may write what its session knows."""
    shown: bool = False
    """Whether a page shows the View, as the holder wrote it last."""
    tools: list[JSONObject] | None = None
    """The tools that the View offers to the model, as the View listed them, if workers share them."""

    @property
    def summary(self) -> "ViewSummary":
        """The same without what can be large."""
        call: CallState = "done" if self.result is not None else "running" if self.cancelled is None else "cancelled"
        return ViewSummary(
            self.id,
            self.server,
            self.tool,
            self.uri,
            self.conversation,
            self.user,
            self.created,
            call,
            self.closed,
            self.holder,
            self.shown,
        )


CallState = Literal["running", "done", "cancelled"]


class ViewSummary(NamedTuple):
    """The stored data of one View without its arguments, result, context and state, which can be large."""

    id: str
    """The id, for `<mcp-app view=...>`."""
    server: str
    """The server that the View comes from."""
    tool: str
    """The tool whose call opened the View."""
    uri: str
    """The `ui://` URI of the View."""
    conversation: str | None
    """The conversation of the call, or None."""
    user: str | None
    """The user that the View belongs to, or None in a program with one user."""
    created: float
    """When the View was opened, in seconds since 1970."""
    call: CallState
    """Whether the call is `running`, `done` or `cancelled`."""
    closed: bool
    """Whether the View was closed permanently."""
    holder: str | None = None
    """The worker that has the session of the View, or None."""
    shown: bool = False
    """Whether a page shows the View, as the holder wrote it last."""


class Changed(NamedTuple):
    """What `Store.change` returns for a View that it has changed."""

    holder: str | None
    """The worker that has the session of the View, after the change."""


class UnfinishedCall(NamedTuple):
    """A View whose call neither has a result nor was cancelled."""

    view: str
    """The id of the View."""
    caller: str | None
    """The worker that runs the call, or None."""


class ErasedView(NamedTuple):
    """A View that was erased."""

    view: str
    """The id of the View."""
    holder: str | None
    """The worker that had its session, or None."""


class OfferedTools(NamedTuple):
    """The tools that a View which a page shows offers to the model."""

    view: str
    """The id of the View."""
    server: str
    """The server that the View comes from."""
    holder: str
    """The worker that has the session of the View."""
    tools: list[JSONObject]
    """The tools as the View listed them."""


class StoredContext(NamedTuple):
    """What a View wants the model to know."""

    view: str
    """The id of the View."""
    server: str
    """The server that the View comes from."""
    tool: str
    """The tool whose call opened the View."""
    context: JSONObject
    """The last update of the View."""
    is_new: bool
    """Whether the model has not been given it yet."""


@dataclass(frozen=True)
class Grant:
    """A permanent consent: what a user allowed an app with "always".

    An app is a server and the URI of its View, whatever the conversation. A grant holds for its own user only.
    """

    server: str
    """The server of the app."""
    uri: str
    """The `ui://` URI of the View."""
    kind: str
    """What was allowed: the `kind` of a `Question`."""
    key: str
    """Which one: the tool's name, the host of a link, the digest of a document. Empty for kinds that have only one."""
    user: str | None = None
    """The user that allowed it, or None in a program with one user."""


AuditKind = Literal["message", "decision", "document", "violation", "app-tool", "dialect"]


class AuditRecord(NamedTuple):
    """One event of the audit."""

    time: float
    """Seconds since 1970."""
    kind: AuditKind
    """`message`, `decision`, `document`, `violation`, `app-tool` or `dialect`."""
    name: str
    """The method, kind of decision, URI of the document, violated directive, tool, or name in the dialect."""
    outcome: str
    """The outcome, such as `ok`, `error`, `allowed`, `denied`, `shown` or `blocked`."""
    view: str | None = None
    """The id of the View, if known."""
    server: str | None = None
    """The server, if known."""
    conversation: str | None = None
    """The conversation, if known."""
    user: str | None = None
    """The user, if known."""
    by: str | None = None
    """What decided, such as `policy` or `user`; for violations, what reported it: `browser` or `page`."""
    bytes_in: int | None = None
    """The length of a request in bytes."""
    bytes_out: int | None = None
    """The length of the response in bytes."""
    duration: float | None = None
    """Seconds between request and response."""
    data: JSONObject | None = None
    """Further facts: arguments as `audit_arguments` keeps them, reasons, digests."""


@dataclass(frozen=True)
class AuditQuery:
    """Selects audit records. None means any."""

    view: str | None = None
    """The id of a View."""
    server: str | None = None
    """The name of a server."""
    conversation: str | None = None
    """A conversation."""
    user: str | None = None
    """A user."""
    kind: str | None = None
    """The `kind` of the record."""
    name: str | None = None
    """The `name` of the record."""
    since: float | None = None
    """The earliest time, inclusive, in seconds since 1970."""
    until: float | None = None
    """The latest time, exclusive, in seconds since 1970."""
    limit: int | None = None
    """The maximum number of records."""

    def matches(self, record: AuditRecord) -> bool:
        """Return whether a record is selected, whatever the limit."""
        if any(getattr(self, name) not in (None, getattr(record, name)) for name in QUERY_FIELDS):
            return False
        return (self.since is None or record.time >= self.since) and (self.until is None or record.time < self.until)


NO_CONDITION: Final[Mapping[str, Any]] = {}
"""A change that depends on nothing."""

QUERY_FIELDS: Final = ("view", "server", "conversation", "user", "kind", "name")
"""The fields of an `AuditQuery` that have to be equal to those of a record."""


class StoredDocument(NamedTuple):
    """A View's document as browsers get it."""

    label: str
    """The DNS label of the app's origin."""
    address: str
    """The path at that origin: a hash of the document and its headers."""
    body: bytes
    """The document, compressed with gzip."""
    headers: Mapping[str, str]
    """The response headers."""
    expires: float
    """When it may be removed, in seconds since 1970."""
    user: str | None = None
    """The user of the app, or None in a program with one user."""


@dataclass(frozen=True)
class Selection:
    """Selects what to erase. None means any, but a selection without any of the first three selects nothing."""

    user: str | None = None
    """The user."""
    conversation: str | None = None
    """The conversation. Grants, pinned documents and credentials belong to no conversation and are not selected."""
    before: float | None = None
    """The time before which a View was opened or an audit record was written, in seconds since 1970."""
    keep: frozenset[str] = frozenset()
    """The ids of Views that are not selected."""
    keep_held_by: frozenset[str] = frozenset()
    """The workers whose Views are not selected."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is selected."""
        return (self.user, self.conversation, self.before) == (None, None, None)

    def keeps(self, view: str, holder: str | None) -> bool:
        """Return whether a View is not selected because it is one to keep."""
        return view in self.keep or holder in self.keep_held_by

    def selects(self, record: AuditRecord) -> bool:
        """Return whether an audit record is selected."""
        return not self.is_empty and (
            self.user in (None, record.user)
            and self.conversation in (None, record.conversation)
            and (self.before is None or record.time < self.before)
        )


class Store(Protocol):
    """What a store has to implement. No method may block the event loop.

    A write is durable when its method returns. A method that fails raises `StoreError`, and has changed nothing. A
    `user` is None in a program with one user, and None is a key like any other.
    """

    async def add(self, record: ViewRecord) -> None:
        """Add the record of a View."""

    async def change(
        self, id: str, changes: Mapping[str, Any], only_if: Mapping[str, Any] = NO_CONDITION
    ) -> Changed | None:
        """Set fields of a View's record by name, if other fields have the values of `only_if`, in one step.

        Return None, and change nothing, if there is no such record or a field has another value.
        """

    async def load(self, id: str) -> ViewRecord | None:
        """Return the record of a View, or None."""

    async def views(self, user: str | None, conversation: str | None) -> list[ViewSummary]:
        """Return the Views of a user's conversation that are not closed, the oldest first."""

    async def contexts(self, user: str | None, conversation: str | None) -> list[StoredContext]:
        """Return the context of each View in `views` that has one, the oldest View first."""

    async def take_contexts(self, user: str | None, conversation: str | None) -> list[StoredContext]:
        """Return the `contexts` that are new, and mark them as given, in one step: each is returned once."""

    async def offered_tools(self, user: str | None, conversation: str | None) -> list[OfferedTools]:
        """Return the tools of each View in `views` that has some, a holder, and is shown, the oldest View first."""

    async def unfinished(self) -> list[UnfinishedCall]:
        """Return the Views that are not closed and whose call neither has a result nor was cancelled."""

    async def add_token(self, digest: str, view: str, expires: float) -> None:
        """Add the digest of a token for a View, or change when it expires."""

    async def has_token(self, digest: str, view: str, now: float) -> bool:
        """Return whether a View has a token with this digest that expires later than `now`."""

    async def grant(self, grant: Grant) -> None:
        """Add a grant."""

    async def is_granted(self, grant: Grant) -> bool:
        """Return whether there is such a grant."""

    async def grants(self, user: str | None) -> list[Grant]:
        """Return the grants of a user."""

    async def revoke(self, grant: Grant) -> None:
        """Remove a grant."""

    async def pin(self, server: str, uri: str, sha256: str, user: str | None) -> None:
        """Set the digest of the document of an app that a user was shown or approved last."""

    async def pinned(self, server: str, uri: str, user: str | None) -> str | None:
        """Return the digest that `pin` set, or None."""

    async def secret(self) -> str:
        """Return the secret of this store: random, created with its first use, and the same for all processes."""

    async def set_credentials(self, user: str, server: str, credentials: JSONObject) -> None:
        """Store the OAuth tokens and registration of a user at a server. They are secrets."""

    async def credentials(self, user: str, server: str) -> JSONObject | None:
        """Return what `set_credentials` stored, or None."""

    async def add_document(self, document: StoredDocument) -> None:
        """Add a View's document, so that other processes can serve it, or change when it expires.

        A store that no other process can read may ignore it.
        """

    async def document(self, label: str, address: str, now: float) -> StoredDocument | None:
        """Return the document that was added with a label and an address, unless it expired before `now`."""

    async def remove_documents(self, expired_before: float) -> None:
        """Remove the documents that expired before a time."""

    async def put_payload(self, key: str, body: bytes, expires: float) -> None:
        """Keep a message between workers that is too large for the bus, until it is taken, replaced, or expires."""

    async def take_payload(self, key: str) -> bytes | None:
        """Return what `put_payload` kept, and remove it; None if there is nothing, or it has expired."""

    async def record(self, records: Sequence[AuditRecord]) -> None:
        """Write audit records, all or none of them."""

    def records(self, query: AuditQuery) -> AsyncIterator[AuditRecord]:
        """Return the audit records that match, the oldest first."""

    async def erase_views(self, selection: Selection) -> list[ErasedView]:
        """Erase Views with their tokens, and return those that were erased."""

    async def erase_user(self, user: str) -> None:
        """Erase the grants, credentials, documents and digests of pinned documents of a user."""

    async def erase_records(self, selection: Selection, pseudonym: str | None) -> None:
        """Erase audit records; with a pseudonym, keep them, but write it in place of the user and erase `data`."""

    async def close(self) -> None:
        """Release files and connections when the host stops. A host that is started again uses the store again."""
