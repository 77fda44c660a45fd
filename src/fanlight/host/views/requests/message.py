"""A message from a View, as it was received."""

from fanlight.protocol import jsonrpc
from fanlight.protocol.jsonrpc import JSONObject, RequestId


class ViewMessage:
    """A message from a View, with what the limits and the audit need to know about it."""

    __slots__ = ("failure", "id", "method", "params", "received_at", "size")

    def __init__(self, message: object, size: int, received_at: float) -> None:
        fields = message if isinstance(message, dict) else {}
        method, id, params = fields.get("method"), fields.get("id"), fields.get("params")
        self.method = method if isinstance(method, str) else "(answer)" if "id" in fields else "(nonsense)"
        self.id: RequestId | None = id if isinstance(method, str) and jsonrpc.is_id(id) else None
        self.params: JSONObject = params if isinstance(params, dict) else {}
        self.size = size
        """In bytes."""
        self.received_at = received_at
        self.failure: str | None = None
        """The whole reason why a request failed, of which the View may get less."""
