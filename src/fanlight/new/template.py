"""The templates of `fanlight new`, and the folders that their files come from."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from fanlight.protocol.errors import UsageError

DEFAULT: Final = "vanilla"
_ABOUT: Final = "about.md"
_FOLDER: Final = files("fanlight.new") / "templates"


@dataclass(frozen=True)
class Template:
    """A kind of project.

    `parts` are folders in `templates`, each with the folder of the project that its files go to; a file of a later part
    replaces one of an earlier part.
    """

    name: str
    summary: str
    parts: tuple[tuple[str, str], ...]
    extra: str | None = None
    """The extra of Fanlight that the project depends on."""
    packages: tuple[str, ...] = ()
    """The other packages that it depends on."""
    tool: str = "show_my_app"
    """The tool with the View."""
    needs_node: bool = False

    def files(self) -> dict[str, str]:
        """Return the files by path, with placeholders: `my_app`, `my-app` and `My app` for the name of the project."""
        found: dict[str, str] = {}
        for part, folder in (("common", ""), *self.parts):
            found |= {f"{folder}{path}": file.read_text("utf-8") for path, file in _walk(_FOLDER / part)}
        about = found.pop(_ABOUT)
        return found | {"README.md": found["README.md"].replace("<!-- about -->\n", about)}


def build_backend_tables(backend: str) -> str:
    """Return the tables of `pyproject.toml` for a build backend."""
    return (_FOLDER / "backends" / f"{backend}.toml").read_text("utf-8")


def find_template(name: str) -> Template:
    """Return a template, or raise `UsageError` with the most similar one."""
    if name in TEMPLATES:
        return TEMPLATES[name]
    near = difflib.get_close_matches(name.lower(), TEMPLATES, n=1)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise UsageError(f"There is no template {name!r}. {hint}The templates are {', '.join(TEMPLATES)}.")


def listing() -> str:
    """Return one line for each template."""
    width = max(map(len, TEMPLATES))
    return "\n".join(f"{template.name:<{width}}  {template.summary}" for template in TEMPLATES.values())


def _walk(folder: Traversable, above: str = "") -> Iterator[tuple[str, Traversable]]:
    """Yield the files below a folder with their paths. `dot-` at the start of a name stands for a dot."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name = entry.name
        if name == "__pycache__":
            continue
        path = above + (f".{name.removeprefix('dot-')}" if name.startswith("dot-") else name)
        if entry.is_dir():
            yield from _walk(entry, f"{path}/")
        else:
            yield path, entry


def _vite(name: str, framework: str) -> Template:
    parts = (("style", "view/"), ("vite", ""), (name, ""))
    return Template(name, f"a View in {framework}, built by Vite into one file", parts, needs_node=True)


_ALL: Final = (
    Template(DEFAULT, "a View in HTML, CSS and JavaScript, without Node", (("style", "my_app/"), ("vanilla", ""))),
    Template(
        "show",
        "a table, a chart and numbers from pandas and plotly, without HTML",
        (("show", ""),),
        extra="show",
        packages=("pandas>=2.2", "plotly>=6"),
    ),
    Template("form", "a form from a pydantic model, without HTML", (("form", ""),), tool="book_table"),
    Template("pages", "pages from Jinja templates, without JavaScript", (("pages", ""),), extra="pages"),
    _vite("react", "React"),
    _vite("vue", "Vue"),
    _vite("svelte", "Svelte"),
    _vite("preact", "Preact"),
    _vite("solid", "Solid"),
)
TEMPLATES: Final = {template.name: template for template in _ALL}
