"""What a program can know about a View."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from fanlight.host.store.base import CallState, ViewSummary
from fanlight.host.views.session import Session

ViewState = Literal["shown", "waiting", "stored", "closed"]


@dataclass(frozen=True)
class ViewInfo:
    """A View: what it belongs to, what it shows, and whether a page shows it."""

    id: str
    """The id, for `<mcp-app view=...>`."""
    user: str | None
    """The user that the View belongs to, or None in a program with one user."""
    conversation: str | None
    """The conversation that the View belongs to, or None."""
    server: str
    """The server that the View comes from."""
    tool: str
    """The tool whose call opened the View."""
    uri: str
    """The `ui://` URI of its document."""
    created: float
    """When it was opened, in seconds since 1970."""
    call: CallState
    """Whether its call is `running`, `done` or `cancelled`."""
    state: ViewState
    """`shown` in a page, `waiting` for one with its session alive, only `stored`, or `closed` for good."""


def view_info(summary: ViewSummary, session: Session | None, workers: Collection[str] = ()) -> ViewInfo:
    """Return what is known about a View, from its stored data and its session, here or with a worker that is alive."""
    state: ViewState = "closed" if summary.closed else "stored"
    if session is not None:
        state = "shown" if session.attached else "waiting"
    elif not summary.closed and summary.holder in workers:
        state = "shown" if summary.shown else "waiting"
    return ViewInfo(
        summary.id,
        summary.user,
        summary.conversation,
        summary.server,
        summary.tool,
        summary.uri,
        summary.created,
        summary.call,
        state,
    )
