"""What Views ask for, and who serves it: the server behind a View, the program, or the page around it."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from fanlight.host.app_tools import AppTools
from fanlight.host.connection import ServerError, Unfinished
from fanlight.host.downloads import saved_file, saved_files
from fanlight.host.open_views import OpenViews
from fanlight.host.resources import for_app
from fanlight.host.servers import Servers
from fanlight.host.session import Progress, RequestFailed, Session
from fanlight.host.store import ViewRecord
from fanlight.protocol.jsonrpc import INVALID_PARAMS

JSONObject = dict[str, Any]
MessageHandler = Callable[[str | None, str, list[JSONObject]], Awaitable[None] | None]
SamplingHandler = Callable[[str | None, JSONObject], Awaitable[JSONObject]]


class Desk:
    """Serves the requests of all Views of a host."""

    def __init__(self, servers: Servers, app_tools: AppTools, call_timeout: float) -> None:
        self.views: OpenViews
        self.on_message: MessageHandler | None = None
        self.on_sampling: SamplingHandler | None = None
        self._servers = servers
        self._app_tools = app_tools
        self._call_timeout = call_timeout

    async def call_tool_for_view(
        self, session: Session, name: str, arguments: JSONObject, progress: Progress
    ) -> JSONObject:
        connection = self._servers[self._record(session).server]
        return await _for_view(connection.call_tool(name, arguments, on_progress=progress, timeout=self._call_timeout))

    async def ask_server(self, session: Session, method: str, params: JSONObject) -> JSONObject:
        connection = self._servers[self._record(session).server]
        cursor = params.get("cursor")
        cursor = cursor if isinstance(cursor, str) else None
        match method:
            case "tools/list":
                return {"tools": [tool for tool in connection.tools if for_app(tool)]}
            case "resources/read":
                uri = params.get("uri")
                if not isinstance(uri, str):
                    raise RequestFailed("resources/read: uri is missing, expected a string.", INVALID_PARAMS)
                return await _for_view(connection.read_resource(uri))
            case "resources/list":
                return await _for_view(connection.list_resources(cursor))
            case "resources/templates/list":
                return await _for_view(connection.list_resource_templates(cursor))
            case _:
                return await _for_view(connection.list_prompts(cursor))

    async def sample(self, session: Session, params: JSONObject) -> JSONObject:
        assert self.on_sampling is not None, "sampling is offered only where there is a handler"
        return await self.on_sampling(self._record(session).conversation, params)

    async def message(self, session: Session, role: str, content: tuple[JSONObject, ...]) -> None:
        if self.on_message is None:
            raise RequestFailed("This host takes no messages from Views.")
        done = self.on_message(self._record(session).conversation, role, list(content))
        if inspect.isawaitable(done):
            await done

    async def update_context(self, session: Session, update: JSONObject) -> None:
        self.views.change(session.id, context=update)

    async def link(self, session: Session, url: str) -> None:
        if not is_web_link(url):
            raise RequestFailed("Only http and https links are opened.")

    async def download(self, session: Session, contents: tuple[JSONObject, ...]) -> tuple[list[JSONObject], list[str]]:
        """Return the files to save and the links to open: what is on the web is for the browser to fetch."""
        files: list[JSONObject] = []
        links: list[str] = []
        for block in contents:
            uri = block.get("uri")
            if block.get("type") != "resource_link":
                files.append(saved_file(block))
            elif not isinstance(uri, str):
                raise RequestFailed("A resource_link has no uri.", INVALID_PARAMS)
            elif is_web_link(uri):
                links.append(uri)
            else:
                files += saved_files(await self.ask_server(session, "resources/read", {"uri": uri}))
        return files, links

    async def app_tools_changed(self, session: Session) -> None:
        await self._app_tools.look(session, self._record(session).server)

    async def closing(self, session: Session) -> None:
        self.views.forget(session.id)
        await session.close("the View asked to be closed")

    def _record(self, session: Session) -> ViewRecord:
        record = self.views.record(session.id)
        assert record is not None, "an open View has its record"
        return record


def is_web_link(url: str) -> bool:
    """Tell whether a link is one that a browser opens as a page."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme.lower() in ("http", "https") and bool(parts.netloc)


async def _for_view(work: Awaitable[JSONObject]) -> JSONObject:
    """Return what a server answered to a View, or raise what the View is told instead."""
    try:
        return await work
    except ServerError as error:
        raise RequestFailed(error.message, error.code, error.data) from None
    except Unfinished as error:
        raise RequestFailed(error.message) from None
