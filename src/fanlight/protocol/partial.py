"""A tool's arguments while a model is still writing them."""

from pydantic_core import from_json

from fanlight.protocol.jsonrpc import JSONObject


class PartialArguments:
    """Collects the JSON text of a tool call's arguments, and parses it as far as it goes.

    `feed` only keeps the text. `arguments` parses all of it, so read it when an update is due and not after every
    piece: if the text has grown by some percentage each time, the work is linear in its length.
    """

    def __init__(self) -> None:
        self._text = bytearray()
        self._parsed = 0
        self._arguments: JSONObject = {}

    def feed(self, text: str) -> None:
        """Add the next piece of the text."""
        self._text += text.encode("utf-8", "surrogatepass")

    @property
    def arguments(self) -> JSONObject:
        """The arguments so far: open strings, arrays and objects are closed, and incomplete numbers left out.

        It is always an object (TIP-02). If the text is not JSON, or JSON but not an object, it stays what it was.
        """
        if len(self._text) > self._parsed:
            self._parsed = len(self._text)
            try:
                parsed = from_json(self._text, allow_inf_nan=False, allow_partial="trailing-strings")
            except ValueError:
                return self._arguments
            if isinstance(parsed, dict):
                self._arguments = parsed
        return self._arguments
