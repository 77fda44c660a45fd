"""What the model sees: the context and messages that Views send, and the tools that they offer."""

from dataclasses import asdict
from time import time

from starlette.routing import Route

from fanlight.dev.api import arguments, get, post, text
from fanlight.dev.events import Events
from fanlight.host import Host, Message
from fanlight.host.host import runtime_of
from fanlight.host.views.records import Owner
from fanlight.inspector.panel import conversation
from fanlight.protocol.jsonrpc import JSONObject


class ModelPanel:
    """Collects what Views send to the model, and calls their app tools as the model would."""

    def __init__(self, host: Host, events: Events) -> None:
        self._runtime = runtime_of(host)
        self._events = events
        self._messages: list[JSONObject] = []
        host.on_message(self._receive)

    def routes(self) -> list[Route]:
        """Return the routes of this panel."""
        return [get("model", self._model), post("app-tool", self._call_app_tool)]

    async def _model(self, query: JSONObject) -> JSONObject:
        page = conversation(query)
        return {
            "context": [
                {"view": each.view, "server": each.server, **each.context}
                for each in await self._runtime.records.contexts(Owner(None, page))
            ],
            "messages": [message for message in self._messages if message["conversation"] == page],
            "appTools": [asdict(tool) for tool in await self._runtime.model_tools({}, Owner(None, page))],
        }

    async def _call_app_tool(self, body: JSONObject) -> JSONObject:
        session = self._runtime.views.live(text(body, "view"))
        return await self._runtime.requests.call_app_tool(session, text(body, "name"), arguments(body))

    async def _receive(self, received: Message) -> None:
        message = {
            "conversation": received.conversation,
            "role": received.role,
            "content": received.content,
            "at": time(),
        }
        self._messages.append(message)
        self._events.publish("message", message)
