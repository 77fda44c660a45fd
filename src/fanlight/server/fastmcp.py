"""`Apps` on `fastmcp.FastMCP`. Imported only for such a server, because FastMCP is optional."""

from collections.abc import Callable, Mapping
from typing import Any

from fastmcp import FastMCP
from fastmcp.exceptions import ResourceError
from fastmcp.resources import Resource
from fastmcp.server.dependencies import transform_context_annotations, without_injected_parameters

from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.extension import MIME_TYPE
from fanlight.server.view import View


class ViewResource(Resource):
    """A View as a resource of the server's own type.

    FastMCP parses URIs as URLs, which normalizes some of them. This type keeps the URI as the author wrote it.
    """

    uri: str  # type: ignore[assignment]
    view: Any = None

    async def read(self) -> str | bytes:
        view: View = self.view
        return await view.read_for_client(ResourceError)


class FastMCPAdapter:
    """Registers tools and Views on a `FastMCP`."""

    def __init__(self, server: FastMCP[Any]) -> None:
        self._server = server

    def add_view(self, view: View) -> None:
        resource = ViewResource(
            uri=view.uri,
            name=view.name or view.uri,
            title=view.title,
            description=view.description,
            mime_type=MIME_TYPE,
            meta=view.meta or None,
            view=view,
        )
        if resource.key in self._server._local_provider._components:
            raise RegistrationError(f"The server already has a resource {view.uri}. Give the View another URI.")
        self._server.add_resource(resource)

    def has_tool(self, name: str, options: Mapping[str, Any]) -> bool:
        # One name may have several versions.
        return f"tool:{name}@{options.get('version') or ''}" in self._server._local_provider._components

    def may_have_tool(self, name: str) -> bool:
        # Mounted servers, proxies and transforms are asked asynchronously, and may answer each client differently.
        if len(self._server.providers) > 1 or self._server.transforms:
            return True
        return any(key.startswith(f"tool:{name}@") for key in self._server._local_provider._components)

    def tool(self, meta: dict[str, Any] | None, options: dict[str, Any]) -> Callable[[Callable[..., Any]], Any]:
        if options.get("app") is not None:
            raise RegistrationError("apps.tool links the View itself. Write view=... instead of app=....")
        decorator: Callable[[Callable[..., Any]], Any] = self._server.tool(meta=meta, **options)
        return decorator

    # FastMCP knows the context of the current request itself.
    context: type | None = None

    def without_injected(self, function: Callable[..., Any]) -> tuple[Callable[..., Any], str | None]:
        return without_injected_parameters(transform_context_annotations(function)), None

    async def find_meta(self, name: str) -> Mapping[str, Any] | None:
        # The server's own tools are found by key; only mounted and proxied ones need the slower lookup.
        tool = self._server._local_provider._components.get(f"tool:{name}@") or await self._server.get_tool(name)
        return None if tool is None else tool.meta
