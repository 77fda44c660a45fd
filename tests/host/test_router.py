"""Requests of a conversation that another worker sends to the server, because it owns the conversation there."""

from typing import Any

import pytest

from fanlight.host import Timeouts
from fanlight.host.bus.messages import ForwardedRequest
from fanlight.host.errors import (
    BusError,
    ConnectionLostError,
    NotConnectedError,
    RequestError,
    ServerError,
    WorkerLostError,
)
from fanlight.host.upstream.callers import Callers
from fanlight.host.upstream.config import parse_target
from fanlight.host.upstream.router import ServerRouter

pytestmark = pytest.mark.anyio

CALL = {"name": "count", "arguments": {"n": 1}}


class FakeConnection:
    """A connection that does what `outcome` is: a result, or an error to raise."""

    def __init__(self, outcome: Any) -> None:
        self.target = parse_target({"url": "http://127.0.0.1:9/mcp", "affinity": "conversation"}, "crm")
        self.callers = Callers(None)
        self._outcome = outcome

    async def read_resource(self, uri: str) -> Any:
        return await self.call_tool(uri, {})

    async def call_tool(self, name: str, arguments: dict[str, Any], *rest: Any, **options: Any) -> Any:
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


class FakeServers(dict[str, FakeConnection]):
    async def connect(self, name: str, user: str | None) -> FakeConnection:
        return self[name]


class FakeWorkers:
    """Workers of which another one owns everything. `outcome` is what that worker answers, or an error to raise."""

    def __init__(self, outcome: Any = None, owner: Any = "b") -> None:
        self._outcome = outcome
        self._owner = owner
        self.requests: list[ForwardedRequest] = []

    async def owner(self, *key: str | None) -> str | None:
        if isinstance(self._owner, Exception):
            raise self._owner
        owner: str | None = self._owner
        return owner

    async def request(self, worker: str, message: ForwardedRequest, seconds: float, on_progress: Any) -> Any:
        self.requests.append(message)
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


def router(workers: FakeWorkers, outcome: Any = None) -> ServerRouter:
    servers: Any = FakeServers(crm=FakeConnection(outcome))
    return ServerRouter(servers, workers, Timeouts())  # type: ignore[arg-type]


async def ignore(progress: float, total: float | None, message: str | None) -> None:
    pass


async def test_a_call_and_a_read_are_sent_by_the_worker_that_owns_the_conversation() -> None:
    workers = FakeWorkers({"result": {"content": []}})
    sender = router(workers, AssertionError("this worker must not connect"))
    assert await sender.call_tool("crm", "alice", "c1", "count", {"n": 1}) == {"content": []}
    assert await sender.read_resource("crm", "alice", "c1", "ui://crm/view") == {"content": []}
    assert workers.requests == [
        ForwardedRequest("crm", "alice", "c1", "tools/call", CALL),
        ForwardedRequest("crm", "alice", "c1", "resources/read", {"uri": "ui://crm/view"}),
    ]


async def test_an_error_of_the_server_keeps_its_code_and_data() -> None:
    failure = {"code": -32602, "message": "Unknown tool", "data": {"name": "count"}}
    with pytest.raises(ServerError, match="Unknown tool") as raised:
        await router(FakeWorkers({"error": failure})).call_tool("crm", None, "c1", "count", {})
    assert (raised.value.code, raised.value.data) == (-32602, {"name": "count"})


@pytest.mark.parametrize(
    ("outcome", "kind", "text"),
    [
        ({"cancelled": "the connection was lost.", "sent": True}, ConnectionLostError, "the connection was lost"),
        ({"cancelled": "it is not ready.", "sent": False}, NotConnectedError, "it is not ready"),
        (WorkerLostError("The process has ended."), ConnectionLostError, r"has ended\. The tool may have run\."),
        (
            RequestError("This worker does not serve such a request."),
            NotConnectedError,
            "does not serve such a request",
        ),
    ],
)
async def test_the_error_says_whether_the_tool_may_have_run(outcome: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text) as raised:
        await router(FakeWorkers(outcome)).call_tool("crm", None, "c1", "count", {})
    assert type(raised.value) is kind


async def test_without_the_bus_a_call_is_not_sent_at_all() -> None:
    """Goes red if this worker sends it itself: the process of another worker has the state of the conversation."""
    workers = FakeWorkers(owner=BusError("Redis is down."))
    with pytest.raises(NotConnectedError, match="which worker has this conversation is not known: Redis is down"):
        await router(workers, {"content": []}).call_tool("crm", None, "c1", "count", {})


@pytest.mark.parametrize("method", ["tools/call", "resources/read"])
@pytest.mark.parametrize(
    ("outcome", "answer"),
    [
        ({"content": []}, {"result": {"content": []}}),
        (ServerError("crm", -32602, "No.", [1]), {"error": {"code": -32602, "message": "No.", "data": [1]}}),
        (ConnectionLostError("crm", "lost."), {"cancelled": "lost.", "sent": True}),
        (NotConnectedError("crm", "down."), {"cancelled": "down.", "sent": False}),
    ],
)
async def test_the_owner_answers_with_what_came_of_the_request(method: str, outcome: Any, answer: Any) -> None:
    params = CALL if method == "tools/call" else {"uri": "ui://crm/view"}
    owner = router(FakeWorkers(owner=None), outcome)
    assert await owner.serve(ForwardedRequest("crm", None, "c1", method, params), ignore) == answer


async def test_a_conversation_that_nobody_else_owns_is_served_here() -> None:
    assert await router(FakeWorkers(owner=None), {"contents": []}).read_resource("crm", None, "c1", "ui://a/b") == {
        "contents": []
    }
