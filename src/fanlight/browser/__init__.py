"""What runs in a browser: `view.js`, the View's end of the link; `mcp-app.js` and `sandbox.js`, the host's.

`view-openai.js` and `mcpui-adapter.js` are added to view.js for Views that need them. The host puts a shim before
documents that speak another dialect.
"""

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any, Literal

_SDK = 'globalThis[Symbol.for("fanlight")]'

# These rely on the conventions that view.js states at its top, and tests/browser/test_sdk_size.py checks.
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*[\s\S]*?\*/[ \t]*)\n", re.MULTILINE)
_EXPORT = re.compile(r"^export \{([^}]*)\};\s*\Z", re.MULTILINE)
# A string is kept as it is; around punctuation, spaces do nothing.
_STRING = r'"(?:[^"\\\n]|\\.)*"|`(?:[^`\\\n]|\\.)*`'
_STRING_OR_SPACED = re.compile(rf"({_STRING})| *([{{}}()\[\],;:?=!<>&|]) *")
# Nor does a line's end, after what goes on or has ended, or before what closes or goes on. (Statements end with a
# semicolon, so a line that ends with `)` is the head of an `if` or `for`, or goes on in the next line.)
_LINE_END = re.compile(r"(?<=[{}()\[,;:?=>&|])\n|\n(?=[})\]?:.])")
# The semicolon of the last statement in a block.
_STRING_OR_LAST = re.compile(rf"({_STRING})|;(?=}})")


@cache
def script(name: str) -> str:
    """Return a script without its comments and its indentation."""
    source = _COMMENT.sub("", files(__name__).joinpath(name).read_text(encoding="utf-8"))
    return "\n".join(line for line in map(str.strip, source.splitlines()) if line) + "\n"


_INLINE_COMMENT = re.compile(r"/\*\* [^\n]*? \*/ ?")
# The end of a line that JavaScript and CSS do not need. A line with `//` may end with a comment, and keeps its end.
_NEEDLESS_LINE_END = re.compile(r"^((?:(?!//).)*)(?:(?<=[{(\[,;])\n|\n(?=[})\]?.:]))", re.MULTILINE)


@cache
def served_script(name: str) -> str:
    """Return a script as the host serves it: like `script`, without inline type comments and most line breaks."""
    return _NEEDLESS_LINE_END.sub(r"\1", _INLINE_COMMENT.sub("", script(name)))


_MODULE = re.compile(r"^(?:import .*|export \{[^}]*\};)$\n?", re.MULTILINE)


@cache
def _shim(name: str) -> str:
    source = script("shim.js") + script(f"shim-{name}.js")
    return " ".join(_MODULE.sub("", source).splitlines())


def shim(name: Literal["mcpui", "openai"], given: dict[str, Any]) -> str:
    """Return the element that gives a document a shim, with what the shim is given, in one line."""
    # Nothing in it may end the script or begin a comment; and as a literal, `__proto__` would be more than a name.
    words = json.dumps(json.dumps(given)).replace("<", "\\u003c")
    return f"<script>(() => {{ {_shim(name)} start(window, JSON.parse({words})); }})();</script>"


def page(name: str) -> str:
    """Return an HTML file of ours."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


@cache
def watch_element() -> str:
    """Return the element that tells of a View's errors, in one line."""
    return f"<script>(() => {{ {' '.join(script('watch.js').splitlines())} }})();</script>"


@cache
def _parts(name: str) -> tuple[str, tuple[str, ...]]:
    """Split a script into its code, without comments, white space and semicolons that do nothing, and its exports."""
    source = script(name)
    export = _EXPORT.search(source)
    assert export is not None, f"{name} does not end with its one export statement"
    code = _STRING_OR_SPACED.sub(lambda match: match[1] or match[2], source[: export.start()].rstrip("\n"))
    code = _STRING_OR_LAST.sub(lambda match: match[1] or "", _LINE_END.sub("", code))
    return code, tuple(re.findall(r"\w+", export[1]))


@cache
def view_sdk(*, openai: bool = False) -> str:
    """Return view.js as classic-script statements, to be inlined before the View's own scripts.

    They put what view.js exports into `globalThis[Symbol.for("fanlight")]`. With `openai` the `App` there also
    runs where there is `window.openai` and no MCP Apps host.
    """
    code, names = _parts("view.js")
    sdk = f"{_SDK}=(()=>{{{code}\nreturn{{{','.join(names)}}};}})();"
    return sdk + f"\n{_SDK}=(()=>{{{_parts('view-openai.js')[0]}\nreturn withOpenAI;}})()({_SDK});" if openai else sdk


def mcpui_adapter(options: dict[str, Any], *, openai: bool = False) -> str:
    """Return classic-script statements by which a widget written for mcp-ui runs as a View, the SDK included."""
    # Nothing in it may end the script; and as a literal, `__proto__` would be more than a name.
    given = json.dumps(json.dumps(options)).replace("<", "\\u003c")
    adapter = f"(()=>{{{_parts('mcpui-adapter.js')[0]}\nadapt({_SDK},JSON.parse({given}));}})();"
    return f"{view_sdk(openai=openai)}\n{adapter}"


def view_sdk_exports() -> tuple[str, ...]:
    """Return the names that view.js exports."""
    return _parts("view.js")[1]
