"""`Apps` on the server of the SDK, `mcp.server.MCPServer`."""

from collections.abc import Callable, Mapping
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError
from mcp.server.mcpserver.resolve import find_resolved_parameters
from mcp.server.mcpserver.resources import Resource
from mcp.server.mcpserver.utilities.context_injection import find_context_parameter

from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.extension import MIME_TYPE
from fanlight.server.view import View


class ViewResource(Resource):
    """A View as a resource of the server's own type."""

    view: Any

    async def read(self) -> str | bytes:
        view: View = self.view
        return await view.read_for_client(ResourceError)


class MCPServerAdapter:
    """Registers tools and Views on an `MCPServer`."""

    def __init__(self, server: MCPServer[Any]) -> None:
        self._server = server

    def add_view(self, view: View) -> None:
        if view.uri in self._server._resource_manager._resources:
            raise RegistrationError(f"The server already has a resource {view.uri}. Give the View another URI.")
        self._server.add_resource(
            ViewResource(
                uri=view.uri,
                name=view.name,
                title=view.title,
                description=view.description,
                mime_type=MIME_TYPE,
                meta=view.meta or None,
                view=view,
            )
        )

    def has_tool(self, name: str, options: Mapping[str, Any]) -> bool:
        return self.may_have_tool(name)

    def may_have_tool(self, name: str) -> bool:
        return self._server._tool_manager.get_tool(name) is not None

    def tool(self, meta: dict[str, Any] | None, options: dict[str, Any]) -> Callable[[Callable[..., Any]], Any]:
        return self._server.tool(meta=meta, **options)

    context: type | None = Context

    def without_injected(self, function: Callable[..., Any]) -> tuple[Callable[..., Any], str | None]:
        if resolved := list(find_resolved_parameters(function)):
            raise RegistrationError(
                f"The parameter {resolved[0]} of {function.__name__}() is filled in by Resolve(...), which does not "
                "work in a form. Get the value in the function."
            )
        return function, find_context_parameter(function)

    async def find_meta(self, name: str) -> Mapping[str, Any] | None:
        tool = self._server._tool_manager.get_tool(name)
        return None if tool is None else tool.meta
