import json
from functools import partial
from typing import Any

import anyio
import pytest
from starlette.types import ASGIApp

from fanlight.host import StoreError
from fanlight.host.errors import ElsewhereError
from fanlight.host.views.page.frames import Answer, AskUser, OpenView, StatusText
from fanlight.host.web.asgi import Web
from fanlight.host.web.origins import HostNames, Origins
from fanlight.host.web.page_socket import Socket
from fanlight.host.web.sandbox.routes import proxy_url
from support.fake_web import APPLICATION, LABEL, OPEN, ORIGINS, PROXY_NAME, VIEW_NAME, Browser, Echo, FakeBackend

pytestmark = pytest.mark.anyio


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def app(backend: FakeBackend) -> ASGIApp:
    return Web(backend, HostNames(), backend.lifetime).wrap(APPLICATION)


async def test_a_page_of_the_applications_own_origin_opens_a_view(app: ASGIApp, backend: FakeBackend) -> None:
    messages = await Browser(app).talk(OPEN, '{"type":"message","message":{"a":1}}', "not json", "[]", '{"type":"?"}')
    assert messages[0]["type"] == "websocket.accept"
    assert messages[1:3] == [{"type": "status", "message": "{'a': 1}"}, {"type": "status", "message": "None"}]
    assert backend.opened[0][1] == ORIGINS
    assert backend.disconnected == 1


@pytest.mark.parametrize(
    ("code", "closed"), [(1000, True), (1001, True), (1005, True), (1006, False), (1011, False), (1012, False)]
)
async def test_the_close_code_distinguishes_a_closed_page_from_a_lost_connection(
    app: ASGIApp, backend: FakeBackend, code: int, closed: bool
) -> None:
    await Browser(app).talk(OPEN, code=code)
    assert backend.closed is closed


@pytest.mark.parametrize("message", [{"bytes": b"\xff\xfe"}, {"bytes": b"{}", "text": None}])
async def test_a_binary_frame_closes_the_socket(app: ASGIApp, backend: FakeBackend, message: dict[str, Any]) -> None:
    for before in ([], [OPEN]):
        messages = await Browser(app).talk(*before, {"type": "websocket.receive", **message})
        assert messages[-1] == {"type": "websocket.close", "code": 1003, "reason": ""}
    assert backend.disconnected == 1


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "http://evil.example",
        "http://localhost:9000",
        "http://sandbox.localhost:8000",
        ORIGINS.view(LABEL),
    ],
)
async def test_a_page_of_another_origin_cannot_open_the_socket(
    app: ASGIApp, backend: FakeBackend, origin: str | None
) -> None:
    messages = await Browser(app, origin=origin).talk(OPEN)
    assert [message["type"] for message in messages] == ["websocket.accept", "error", "websocket.close"]
    assert f"Refused the socket of a page: its Origin header is {origin or ''!r}" in messages[1]["message"]
    assert messages[2]["code"] == 1008
    assert backend.opened == []


async def test_the_log_and_the_page_have_the_same_reason(app: ASGIApp, caplog: pytest.LogCaptureFixture) -> None:
    messages = await Browser(app, origin="http://" + "x" * 5000).talk(OPEN)
    (logged,) = [record for record in caplog.records if record.name == "fanlight.host.web.refusals"]
    assert logged.getMessage() == messages[1]["message"]
    assert len(messages[1]["message"]) < 1000


async def test_the_reason_why_a_view_is_refused_is_logged(app: ASGIApp, caplog: pytest.LogCaptureFixture) -> None:
    await Browser(app).talk(json.dumps({"type": "open", "view": "nothing"}))
    assert "A page cannot show a View: There is no such View." in caplog.text


@pytest.mark.parametrize(("view", "code"), [("unreachable", 1013), ("signed-out", 1008)])
async def test_a_view_that_is_not_available_now_can_be_tried_again(
    view: str, code: int, app: ASGIApp, caplog: pytest.LogCaptureFixture
) -> None:
    """The page tries again by itself unless the user has to do something first."""
    messages = await Browser(app).talk(json.dumps({"type": "open", "view": view}))
    words = str(messages[1].pop("message"))
    assert messages[1:] == [{"type": "error", "retry": True}, {"type": "websocket.close", "code": code, "reason": ""}]
    assert words.startswith("The View cannot be shown: ")
    assert "alice" not in words
    assert "A page cannot show a View: the reason, with alice" in caplog.text


async def test_the_scheme_of_a_page_is_that_of_its_origin(app: ASGIApp, backend: FakeBackend) -> None:
    """Behind a proxy that terminates TLS, the request for the socket is one for ws."""
    await Browser(app, origin="https://localhost:8000").talk(OPEN)
    assert backend.opened[0][1] == HostNames().origins("https", "localhost:8000")


async def test_a_page_closes_a_view_that_it_does_not_show(app: ASGIApp, backend: FakeBackend) -> None:
    for view, answer in (("v1", "closed"), ("nothing", "error")):
        messages = await Browser(app).talk(json.dumps({"type": "open", "view": view, "close": True}))
        assert [message["type"] for message in messages] == ["websocket.accept", answer, "websocket.close"]
    assert backend.closed_views == ["v1"]
    assert backend.opened == []
    await Browser(app).talk(json.dumps({"type": "open", "view": "v2", "close": "yes"}))
    assert [request.view for request, _ in backend.opened] == ["v2"]


@pytest.mark.parametrize("origin", ["http://[::1]:8000", "http://[::1]"])
async def test_a_page_at_an_ipv6_address_is_told_to_use_a_name(
    origin: str, app: ASGIApp, backend: FakeBackend, caplog: pytest.LogCaptureFixture
) -> None:
    """A policy cannot allow such a page to frame Views, so they would stay blank."""
    messages = await Browser(app, host=origin.removeprefix("http://"), origin=origin).talk(OPEN)
    assert messages[1]["message"].startswith(f"A page at {origin} cannot show Views: ")
    assert messages[1]["message"].endswith("Open the page by a name, such as localhost.")
    assert messages[1]["message"] in caplog.text
    assert backend.opened == []


@pytest.mark.parametrize("name", [PROXY_NAME, VIEW_NAME, "x.sandbox.localhost:8000"])
async def test_a_sandbox_name_has_no_socket(app: ASGIApp, backend: FakeBackend, name: str) -> None:
    messages = await Browser(app, host=name, origin=f"http://{name}").talk(OPEN)
    assert [message["type"] for message in messages] == ["websocket.close"]
    assert backend.opened == []


@pytest.mark.parametrize("frame", ['{"type":"hello"}', '{"type":"open"}', '{"type":"open","view":7}'])
async def test_the_first_frame_must_be_open(app: ASGIApp, backend: FakeBackend, frame: str) -> None:
    messages = await Browser(app).talk(frame)
    assert messages[1]["type"] == "error"
    assert messages[2]["type"] == "websocket.close"
    assert backend.opened == []


async def test_a_prewarm_frame_returns_the_address_of_the_proxy(app: ASGIApp, backend: FakeBackend) -> None:
    messages = await Browser(app).talk('{"type":"prewarm"}', OPEN, '{"type":"message","message":2}')
    assert messages[1] == {"type": "proxy", "url": proxy_url(ORIGINS)}
    assert messages[2] == {"type": "status", "message": "2"}
    assert len(backend.opened) == 1


async def test_a_socket_that_opens_no_view_in_time_is_closed(backend: FakeBackend) -> None:
    silent = Web(backend, HostNames(), backend.lifetime, open_timeout=0.01).wrap(APPLICATION)
    assert (await Browser(silent).talk(hang_up=False))[-1]["type"] == "websocket.close"
    warm = Web(backend, HostNames(), backend.lifetime, prewarm_timeout=0.01).wrap(APPLICATION)
    assert (await Browser(warm).talk('{"type":"prewarm"}', hang_up=False))[-1]["type"] == "websocket.close"


async def test_the_page_receives_the_reason_of_a_refusal(app: ASGIApp) -> None:
    messages = await Browser(app).talk('{"type":"open","view":"nothing"}')
    assert messages[1] == {"type": "error", "message": "There is no such View."}


async def test_authorize_decides_which_view_may_be_opened(backend: FakeBackend) -> None:
    async def only_v1(socket: Any, view: str) -> bool:
        return view == "v1"

    for authorize in (only_v1, lambda socket, view: view == "v1"):
        app = Web(backend, HostNames(), backend.lifetime, authorize=authorize).wrap(APPLICATION)
        assert (await Browser(app).talk('{"type":"open","view":"v2"}'))[1]["type"] == "error"
        await Browser(app).talk(OPEN)
    assert len(backend.opened) == 2


@pytest.mark.parametrize("text", ["y" * 200, "\N{SNOWMAN}" * 50])
async def test_a_frame_with_too_many_bytes_closes_the_socket(backend: FakeBackend, text: str) -> None:
    app = Web(backend, HostNames(), backend.lifetime, max_bytes=100).wrap(APPLICATION)
    messages = await Browser(app).talk(OPEN, json.dumps({"x": text}, ensure_ascii=False), '{"b":2}')
    assert messages[-1] == {"type": "websocket.close", "code": 1009, "reason": ""}
    assert backend.disconnected == 1


class Asking(FakeBackend):
    """A host that asks the user before it shows a View, and closes the socket of a View called "bye"."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[Answer | None] = []

    async def open(self, request: OpenView, origins: Origins, socket: Socket, user: str | None) -> Echo:
        match request.view:
            case "locked":
                raise StoreError("The database is locked: /var/lib/host.db")
            case "elsewhere":
                raise ElsewhereError
            case "bye":
                await socket.close_socket(1012)
                await socket.close_socket(1012)  # the second time, it is closed
                await socket.send_frame(StatusText("dropped"))
        if request.view == "asks":
            self.answers.append(await socket.question(AskUser(id=0, app="Clock", server="clock", requests=[])))
        return await super().open(request, origins, socket, user)


def asked(view: str) -> str:
    return json.dumps({"type": "open", "view": view})


def answered(answer: object, id: int = 0) -> str:
    return json.dumps({"type": "command-result", "id": id, "result": {"answer": answer}})


@pytest.mark.parametrize(
    ("frames", "answer"),
    [
        ([answered("once")], "once"),
        ([answered("always")], "always"),
        ([answered("deny")], "deny"),
        ([answered("yes")], "deny"),
        ([answered("once", id=1), '{"type":"message","message":{}}', answered("deny")], "deny"),
        (['{"type":"command-result","id":0,"error":"No dialog."}'], "deny"),
    ],
)
async def test_a_question_before_the_view_is_shown_counts_only_its_own_answer(frames: list[str], answer: str) -> None:
    """Goes red if the result of another command, or a message of a View, is taken for the user's consent."""
    backend = Asking()
    messages = await Browser(Web(backend, HostNames(), backend.lifetime).wrap(APPLICATION)).talk(asked("asks"), *frames)
    assert messages[1]["type"] == "question"
    assert backend.answers == [answer]


async def test_a_question_that_is_not_answered_in_time_has_no_answer() -> None:
    backend = Asking()
    app = Web(backend, HostNames(), backend.lifetime, question_timeout=0.01).wrap(APPLICATION)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(Browser(app).talk, asked("asks"), hang_up=False))
        with anyio.fail_after(60):
            while not backend.answers:  # noqa: ASYNC110  there is no event for it
                await anyio.sleep(0.01)
        assert backend.answers == [None]
        tasks.cancel_scope.cancel()


async def test_a_host_that_stops_sends_pages_to_another_process(backend: FakeBackend) -> None:
    app = Web(backend, HostNames(), backend.lifetime, is_draining=lambda: True).wrap(APPLICATION)
    assert await Browser(app).talk(OPEN) == [{"type": "websocket.close", "code": 1012, "reason": ""}]
    assert backend.opened == []


async def test_a_page_tries_again_if_the_store_fails_and_gets_no_details(caplog: pytest.LogCaptureFixture) -> None:
    backend = Asking()
    messages = await Browser(Web(backend, HostNames(), backend.lifetime).wrap(APPLICATION)).talk(asked("locked"))
    assert messages[1:] == [{"type": "websocket.close", "code": 1013, "reason": ""}]
    assert "A View cannot be opened now: The database is locked" in caplog.text


async def test_a_page_whose_view_is_elsewhere_does_not_try_again() -> None:
    backend = Asking()
    messages = await Browser(Web(backend, HostNames(), backend.lifetime).wrap(APPLICATION)).talk(asked("elsewhere"))
    assert messages[1:] == [{"type": "elsewhere"}, {"type": "websocket.close", "code": 1008, "reason": ""}]


async def test_nothing_is_sent_on_a_socket_that_the_host_has_closed() -> None:
    backend = Asking()
    messages = await Browser(Web(backend, HostNames(), backend.lifetime).wrap(APPLICATION)).talk(asked("bye"))
    assert messages[1:] == [{"type": "websocket.close", "code": 1012, "reason": ""}]
