"""The text that the model gets of a page, never its HTML."""

from collections.abc import Callable, Mapping
from typing import Any

import pydantic_core

from fanlight.protocol.errors import RegistrationError
from fanlight.show.templates.environment import Templates

TextSource = str | Callable[[Mapping[str, Any]], str]
"""The name of a template, or a function that gets what the tool's function returned."""


class ModelText:
    """Makes the text of one tool, of at most about `characters`.

    Without a source the text is the returned values, a line for each: `name: value`, with JSON for what is nested.
    """

    def __init__(self, source: TextSource | None, templates: Templates, characters: int) -> None:
        if isinstance(source, str):
            templates.check(source)
        elif source is not None and not callable(source):
            raise RegistrationError(f"text is {source!r}, expected the name of a template or a function.")
        self._source = source
        self._templates = templates
        self._characters = characters

    def of(self, values: Mapping[str, Any]) -> str:
        """Return the text for what the function of the tool returned."""
        if isinstance(self._source, str):
            text = self._templates.render(self._source, values).strip()
        elif self._source is not None:
            text = str(self._source(values))
        else:
            text = "\n".join(f"{name}: {_compact(value)}" for name, value in values.items())
        left_out = len(text) - self._characters
        return text if left_out <= 0 else f"{text[: self._characters]}… ({left_out} more characters)"


def _compact(value: Any) -> str:
    return value if isinstance(value, str) else pydantic_core.to_json(value, fallback=str).decode("utf-8")
