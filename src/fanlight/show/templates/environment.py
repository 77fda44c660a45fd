"""The Jinja environment of a folder of templates, and its errors with file and line."""

import os
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fanlight.protocol.errors import BundleError, RegistrationError
from fanlight.show.templates.bidi import isolate, mark

if TYPE_CHECKING:
    from jinja2 import TemplateSyntaxError
    from jinja2.nodes import EvalContext

NEEDS_JINJA: Final = "Jinja2 is missing, which renders the templates of apps.pages: pip install 'fanlight[pages]'"
_ADVICE: Final = "Paths are relative to the file that calls apps.pages."


_COMMENT: Final = re.compile(r"<!--.*?-->|\{#.*?#\}", re.DOTALL)
_ACTION: Final = re.compile(r"<[a-z][^<>]*?\sdata-action=([\"']?)([^\"'{}\s<>]+)\1(?=[\s>/])", re.IGNORECASE)


@dataclass(frozen=True)
class _Scanned:
    """What a template was found to contain: the templates that it uses, and the actions that it names, with lines."""

    source: str
    uses: tuple[str, ...]
    actions: tuple[tuple[str, int], ...]


class Templates:
    """The templates in one folder. A changed file shows at the next render.

    All templates escape their values, except those whose names end with `.txt`. A variable that the function did not
    return is an error.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from jinja2 import Environment, FileSystemLoader, StrictUndefined
        except ImportError:
            raise RegistrationError(NEEDS_JINJA) from None
        if not folder.is_dir():
            problem = "is not a folder" if folder.exists() else "does not exist"
            raise BundleError(folder, None, f"{problem}, expected a folder of templates. {_ADVICE}")
        self.folder = folder
        self._scanned: dict[str, _Scanned] = {}
        self.environment = Environment(
            loader=FileSystemLoader(folder),
            autoescape=lambda name: name is None or not name.endswith(".txt"),  # noqa: S701  text is not HTML
            undefined=StrictUndefined,
            finalize=_finalize(),
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def check(self, name: str) -> None:
        """Raise unless a template, and each one that it includes, imports or extends by name, exists and is valid."""
        for _ in self._used(name):
            pass

    def actions(self, name: str) -> Iterator[tuple[str, Path, int]]:
        """Yield the actions that a template and those that it uses name literally, with file and line."""
        for current, scanned in self._used(name):
            for action, line in scanned.actions:
                yield action, self.folder / current, line

    def _used(self, name: str) -> Iterator[tuple[str, "_Scanned"]]:
        """Yield a template, and each one that it includes, imports or extends by name. Raise if one is invalid."""
        seen: set[str] = set()
        waiting: list[tuple[str, str | None]] = [(name, None)]
        while waiting:
            current, used_by = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            source = self._source(current, used_by)
            scanned = self._scanned.get(current)
            if scanned is None or scanned.source != source:
                scanned = self._scanned[current] = self._scan(current, source)
            yield current, scanned
            waiting += [(found, current) for found in scanned.uses]

    def _scan(self, name: str, source: str) -> "_Scanned":
        from jinja2 import meta

        try:
            parsed = self.environment.parse(source, name, str(self.folder / name))
            # Filters and tests that do not exist are found only by compiling.
            self.environment.compile(source, name, str(self.folder / name))
        except Exception as error:
            raise self.explained(error) from None
        uses = tuple(found for found in meta.find_referenced_templates(parsed) if found is not None)
        text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), source)
        actions = ((found[2], text.count("\n", 0, found.start(2)) + 1) for found in _ACTION.finditer(text))
        return _Scanned(source, uses, tuple(actions))

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """Return a rendered template. Raise BundleError with file and line if it cannot be rendered."""
        try:
            return isolate(self.environment.get_template(name).render(values))
        except Exception as error:  # whatever the template, its filters and its values raise
            raise self.explained(error) from error

    def explained(self, error: Exception) -> BundleError:
        """Return an error of Jinja, or one that was raised while rendering, with file and line of the template."""
        from jinja2 import TemplateNotFound, TemplateSyntaxError, UndefinedError

        if isinstance(error, BundleError):
            return error
        if isinstance(error, TemplateSyntaxError):
            return BundleError(error.filename or error.name or self.folder, error.lineno, _sentence(error))
        path, line = self._place(error)
        if isinstance(error, TemplateNotFound):
            return BundleError(path, line, f"uses {error.name}, which does not exist. {self._existing()}")
        if isinstance(error, UndefinedError):
            return BundleError(path, line, f"{error}. Return it in the dict, or write {{{{ value|default('') }}}}.")
        return BundleError(path, line, f"{type(error).__name__}: {error}")

    def _place(self, error: Exception) -> tuple[Path, int | None]:
        """Return the innermost place in a template on the way to an error. Jinja adds these to its tracebacks."""
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if Path(frame.filename).is_relative_to(self.folder):
                return Path(frame.filename), frame.lineno
        return self.folder, None

    def _source(self, name: str, used_by: str | None) -> str:
        from jinja2 import TemplateNotFound

        loader = self.environment.loader
        assert loader is not None
        try:
            return loader.get_source(self.environment, name)[0]
        except TemplateNotFound:
            user = f"{used_by} uses it, and it" if used_by else "it"
            raise BundleError(self.folder / name, None, f"{user} does not exist. {self._existing()}") from None
        except UnicodeDecodeError as error:
            raise BundleError(self.folder / name, None, f"is not UTF-8: {error}. Save the file as UTF-8.") from None

    def _existing(self) -> str:
        names = sorted(_names(self.folder))
        listed = ", ".join(names[:8]) + (" and others" if len(names) > 8 else "")
        return f"{self.folder} contains {listed}." if names else f"{self.folder} is empty."


def _finalize() -> "Callable[[EvalContext, object], object]":
    """Return what values go through before they are escaped: in HTML, those that change directions are marked."""
    from jinja2 import pass_eval_context

    @pass_eval_context
    def finalize(context: "EvalContext", value: object) -> object:
        return mark(value) if context.autoescape else value

    return finalize


def _sentence(error: "TemplateSyntaxError") -> str:
    text = str(error.message or "invalid syntax")
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _names(folder: Path) -> Iterator[str]:
    for root, _, names in os.walk(folder):
        for name in names:
            yield (Path(root) / name).relative_to(folder).as_posix()
