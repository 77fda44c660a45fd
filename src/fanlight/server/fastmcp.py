"""`Apps` on `fastmcp.FastMCP`, imported only when it is given one."""

from collections.abc import Callable
from typing import Any

from fastmcp import FastMCP
from fastmcp.exceptions import ResourceError
from fastmcp.resources import Resource

from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.extension import MIME_TYPE
from fanlight.server.view import View


class ViewResource(Resource):
    """A View as the server's own kind of resource.

    FastMCP keeps URIs as parsed URLs, which rewrites some of them; a View's URI stays as it was written.
    """

    uri: str  # type: ignore[assignment]
    view: Any = None

    async def read(self) -> str | bytes:
        view: View = self.view
        try:
            return await view.read()
        except RegistrationError as error:
            raise ResourceError(str(error)) from error


class FastMCPRegistry:
    """Where Apps puts tools and Views on a `FastMCP`."""

    def __init__(self, server: FastMCP[Any]) -> None:
        self._server = server

    def add_view(self, view: View) -> None:
        self._server.add_resource(
            ViewResource(
                uri=view.uri,
                name=view.name or view.uri,
                title=view.title,
                description=view.description,
                mime_type=MIME_TYPE,
                meta=view.meta or None,
                view=view,
            )
        )

    def tool(self, meta: dict[str, Any] | None, options: dict[str, Any]) -> Callable[[Callable[..., Any]], Any]:
        if options.get("app") is not None:
            raise RegistrationError("apps.tool links the View itself. Write view=... instead of app=....")
        decorator: Callable[[Callable[..., Any]], Any] = self._server.tool(meta=meta, **options)
        return decorator
