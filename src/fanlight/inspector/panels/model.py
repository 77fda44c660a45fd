"""What the model sees: the context and messages that Views send, and the tools that they offer."""

from dataclasses import asdict
from time import time

from starlette.routing import Route

from fanlight.host import Host
from fanlight.inspector.api import arguments, conversation, get, post, text
from fanlight.inspector.events import Events
from fanlight.protocol.jsonrpc import JSONObject


class ModelPanel:
    """Collects what Views send to the model, and calls their app tools as the model would."""

    def __init__(self, host: Host, events: Events) -> None:
        self._host = host
        self._events = events
        self._messages: list[JSONObject] = []
        host.on_message(self._receive)

    def routes(self) -> list[Route]:
        """Return the routes of this panel."""
        return [get("model", self._model), post("app-tool", self._call_app_tool)]

    async def _model(self, query: JSONObject) -> JSONObject:
        page = conversation(query)
        return {
            "context": self._host.model_context(page),
            "messages": [message for message in self._messages if message["conversation"] == page],
            "appTools": [asdict(tool) for tool in self._host.app_tools(page)],
        }

    async def _call_app_tool(self, body: JSONObject) -> JSONObject:
        return await self._host.call_app_tool(text(body, "view"), text(body, "name"), arguments(body))

    async def _receive(self, conversation: str | None, role: str, content: list[JSONObject]) -> None:
        message = {"conversation": conversation, "role": role, "content": content, "at": time()}
        self._messages.append(message)
        self._events.publish("message", message)
