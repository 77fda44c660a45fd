"""The WebSocket of a page: who may open it, its first frames, and the loop that receives the others."""

import inspect
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

import anyio
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from fanlight.host.errors import BusError, ElsewhereError, StoreError, ViewRefusedError, ViewUnavailableError
from fanlight.host.json_text import encode_json
from fanlight.host.views.page.channel import RESTARTING
from fanlight.host.views.page.frames import (
    Answer,
    AskUser,
    Closed,
    CommandResult,
    Elsewhere,
    Error,
    HostFrame,
    OpenView,
    Prewarm,
    ProxyAddress,
    ReceivedFrame,
    decode_frame,
    read_answer,
)
from fanlight.host.web.origins import HostNames, Origins
from fanlight.host.web.refusals import Refusals, quote
from fanlight.host.web.sandbox.routes import proxy_url
from fanlight.host.web.users import Authorize, Identify, user_of

# The close codes of a page that was closed, left or reloaded. A lost connection has others.
_CLOSED_BY_PAGE: Final = (1000, 1001, 1005)

# After the first, a page does not reconnect by itself; after the second it does.
_POLICY_VIOLATION: Final = 1008
_TRY_AGAIN_LATER: Final = 1013

logger = logging.getLogger(__name__)


class PageHandler(Protocol):
    """Handles the frames of a page whose View is open."""

    async def receive(self, received: ReceivedFrame) -> None: ...

    def disconnect(self, *, closed: bool) -> None: ...


class SocketBackend(Protocol):
    """What a page's socket needs from the host."""

    async def open(self, request: OpenView, origins: Origins, socket: "Socket", user: str | None) -> PageHandler:
        """Show or resume a View, or raise `ViewRefusedError`, `ViewUnavailableError` or `ElsewhereError`.

        A `user` of None means that the host knows no users.
        """

    async def close(self, request: OpenView, user: str | None) -> None:
        """Close a View for good, or raise `ViewRefusedError`."""


class Socket:
    """One WebSocket of a page, as text frames. Texts for a closed socket are dropped; `PageChannel` keeps them."""

    def __init__(
        self, socket: WebSocket, receive: Receive, send: Send, max_bytes: int, question_timeout: float = 120.0
    ) -> None:
        self.max_bytes = max_bytes
        """The largest frame that the page may send."""
        self._socket = socket
        # Each message of a View passes here. Starlette's methods would check the state of the socket again.
        self._receive = receive
        self._send = send
        self._is_lost = False
        self._question_timeout = question_timeout

    @property
    def attached(self) -> bool:
        """Whether the socket is open."""
        return not self._is_lost and self._socket.application_state is WebSocketState.CONNECTED

    async def send(self, text: str) -> None:
        """Send a text, or drop it if the socket is closed."""
        if not self._is_lost and self._socket.application_state is WebSocketState.CONNECTED:
            try:
                await self._send({"type": "websocket.send", "text": text})
            except RuntimeError:  # a server that counts the socket as closed already
                return
            except OSError:
                self._is_lost = True

    async def close_socket(self, code: int) -> None:
        """Close the socket, if it is open."""
        if self.attached:
            with suppress(RuntimeError, WebSocketDisconnect):
                await self._socket.close(code)

    async def send_frame(self, frame: HostFrame) -> None:
        """Send a frame without a number, before the View is shown."""
        await self.send(encode_json(frame.to_json()))

    async def receive(self) -> ReceivedFrame:
        """Return the next frame. Close the socket on a frame that is too large or is not text."""
        while True:
            message = await self._receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message.get("code", 1005))
            text = message.get("text")
            # A character has at most four bytes, so most frames need not be encoded to be measured.
            if text is None or (len(text) * 4 > self.max_bytes and len(text.encode()) > self.max_bytes):
                code = 1003 if text is None else 1009
                await self._socket.close(code)
                raise WebSocketDisconnect(code)
            received = decode_frame(text)
            if received is not None:
                return received

    async def question(self, question: AskUser) -> Answer | None:
        """Ask the user of a page that shows no View yet. Other frames are ignored until the answer comes."""
        await self.send_frame(question)
        with anyio.move_on_after(self._question_timeout):
            while True:
                match (await self.receive()).frame:
                    case CommandResult(id=question.id, result=result):
                        return read_answer(result)
        return None


class SocketServer:
    """Serves the sockets of pages."""

    def __init__(
        self,
        backend: SocketBackend,
        names: HostNames,
        refusals: Refusals,
        *,
        identify: Identify | None = None,
        authorize: Authorize | None = None,
        is_draining: Callable[[], bool],
        max_bytes: int,
        open_timeout: float,
        prewarm_timeout: float,
        question_timeout: float,
    ) -> None:
        self._backend = backend
        self._names = names
        self._refusals = refusals
        self._identify = identify
        self._authorize = authorize
        self._is_draining = is_draining
        self._max_bytes = max_bytes
        self._open_timeout = open_timeout
        self._prewarm_timeout = prewarm_timeout
        self._question_timeout = question_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one socket. Only pages of the application's own origin, and of `Host(origins=)`, may open it."""
        websocket = WebSocket(scope, receive, send)
        scheme = "https" if websocket.scope["scheme"] == "wss" else "http"
        host, origin = websocket.headers.get("host", ""), websocket.headers.get("origin", "")
        origins = self._names.page_origins(scheme, host, origin)
        if origins is None:
            await _refuse(websocket, self._refusals.page(scheme, host, origin))
            return
        if "[" in origins.host:
            await _refuse(websocket, self._refusals.ipv6(origins.host))
            return
        if self._is_draining():  # another process will accept it
            await websocket.close(RESTARTING)
            return
        await websocket.accept()
        socket = Socket(websocket, receive, send, self._max_bytes, self._question_timeout)
        try:
            request = await self._open_request(socket, origins)
            user = await user_of(self._identify, websocket)
            await self._check_authorized(websocket, request.view)
            if request.close:
                await self._backend.close(request, user)
                await socket.send_frame(Closed())
                await websocket.close(1000)
                return
            handler = await self._backend.open(request, origins, socket, user)
            del request  # as long as the socket is open, it would keep what the page sent
        except ViewRefusedError as refused:
            self._refusals.view(str(refused))
            await _refuse(websocket, str(refused))
            return
        except ViewUnavailableError as failed:
            self._refusals.view(str(failed))
            code = _POLICY_VIOLATION if failed.needs_user else _TRY_AGAIN_LATER
            await _refuse(websocket, failed.user_message, code, retry=True)
            return
        except ElsewhereError:
            await socket.send_frame(Elsewhere())
            await websocket.close(_POLICY_VIOLATION)
            return
        except TimeoutError:
            await websocket.close(1000)
            return
        except (StoreError, BusError) as error:
            logger.warning("A View cannot be opened now: %s", error)
            # Without a reason, so that a page that shows the View keeps it while it tries again.
            await websocket.close(_TRY_AGAIN_LATER)
            return
        except WebSocketDisconnect:
            return
        closed = False
        try:
            while True:
                await handler.receive(await socket.receive())
        except WebSocketDisconnect as disconnect:
            closed = disconnect.code in _CLOSED_BY_PAGE
        finally:
            handler.disconnect(closed=closed)

    async def refuse_name(self, websocket: WebSocket) -> None:
        """Refuse a socket at a host name that is not the program's."""
        name = websocket.headers.get("host", "")
        self._refusals.name("other", name)
        # Without the names of the program: a page whose name was made to resolve to this machine need not know them.
        reason = f"The host does not serve the name {quote(name)}. Its log says what to configure."
        await _refuse(websocket, reason)

    async def _check_authorized(self, websocket: WebSocket, view: str) -> None:
        if self._authorize is None:
            return
        allowed = self._authorize(websocket, view)
        if inspect.isawaitable(allowed):
            allowed = await allowed
        if allowed is not True:
            raise ViewRefusedError("You may not open this View.")

    async def _open_request(self, socket: Socket, origins: Origins) -> OpenView:
        """Return the frame that opens a View. A `prewarm` frame may come before it."""
        with anyio.fail_after(self._open_timeout):
            frame = (await socket.receive()).frame
        if isinstance(frame, Prewarm):
            await socket.send_frame(ProxyAddress(proxy_url(origins)))
            with anyio.fail_after(self._prewarm_timeout):
                frame = (await socket.receive()).frame
        if not isinstance(frame, OpenView):
            raise ViewRefusedError('The first frame must be {"type": "open", "view": "..."}.')
        return frame


async def _refuse(
    websocket: WebSocket, reason: str, code: int = _POLICY_VIOLATION, *, retry: bool | None = None
) -> None:
    """Send a page the reason why its socket is refused. A browser would show it nothing of a refused handshake."""
    if websocket.application_state is WebSocketState.CONNECTING:
        await websocket.accept()
    with suppress(RuntimeError, WebSocketDisconnect):
        await websocket.send_text(encode_json(Error(reason, retry).to_json()))
        await websocket.close(code)
