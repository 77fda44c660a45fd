"""What runs in a browser: `view.js`, the View's end of the link; `mcp-app.js` and `sandbox.js`, the host's; and the
shims, which the host puts in front of documents that speak another dialect.
"""

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any, Literal

# These rely on the conventions that view.js states at its top, and tests/browser/test_sdk_size.py checks.
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*[\s\S]*?\*/[ \t]*)\n", re.MULTILINE)
_EXPORT = re.compile(r"^export \{([^}]*)\};\s*\Z", re.MULTILINE)
# A string is kept as it is; around punctuation, spaces do nothing.
_STRING_OR_SPACED = re.compile(r'("(?:[^"\\\n]|\\.)*"|`(?:[^`\\\n]|\\.)*`)| *([{}()\[\],;:?=!<>&|]) *')
# Nor does a line's end, after what goes on or has ended, or before what closes. (Statements end with a semicolon.)
_LINE_END = re.compile(r"(?<=[{}(\[,;:?=&|])\n|\n(?=[})\]?:])")


@cache
def script(name: str) -> str:
    """Return a script of ours as it is served: without the comments and the indentation, which are for readers."""
    source = _COMMENT.sub("", files(__name__).joinpath(name).read_text(encoding="utf-8"))
    return "\n".join(line for line in map(str.strip, source.splitlines()) if line) + "\n"


_MODULE = re.compile(r"^(?:import .*|export \{[^}]*\};)$\n?", re.MULTILINE)


@cache
def _shim(name: str) -> str:
    return _MODULE.sub("", script("shim.js")) + _MODULE.sub("", script(f"shim-{name}.js"))


def shim(name: Literal["mcpui", "openai"], given: dict[str, Any]) -> str:
    """Return the script element that gives a document a shim, with what the shim is given."""
    # Nothing in it may end the script or begin a comment; and as a literal, `__proto__` would be more than a name.
    words = json.dumps(json.dumps(given)).replace("<", "\\u003c")
    return f"<script>(()=>{{\n{_shim(name)}start(window,JSON.parse({words}));\n}})();</script>"


def page(name: str) -> str:
    """Return an HTML file of ours."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


@cache
def _parts() -> tuple[str, tuple[str, ...]]:
    """Split view.js into its code, without comments and idle white space, and the names that it exports."""
    source = script("view.js")
    export = _EXPORT.search(source)
    if export is None:
        raise RuntimeError("view.js does not end with its one export statement")
    code = _STRING_OR_SPACED.sub(lambda match: match[1] or match[2], source[: export.start()].rstrip("\n"))
    return _LINE_END.sub("", code), tuple(re.findall(r"\w+", export[1]))


@cache
def view_sdk() -> str:
    """Return view.js as one classic-script statement, to be inlined before the View's own scripts.

    It puts what view.js exports into `globalThis[Symbol.for("fanlight")]`.
    """
    code, names = _parts()
    return f'globalThis[Symbol.for("fanlight")]=(()=>{{{code}\nreturn{{{",".join(names)}}};}})();'


def view_sdk_exports() -> tuple[str, ...]:
    """Return the names that view.js exports."""
    return _parts()[1]
