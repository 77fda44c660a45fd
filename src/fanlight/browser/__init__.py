"""JavaScript for browsers: `view.js` for Views; `mcp-app.js` and `sandbox.js` for hosts.

`view-openai.js`, `view-theme.js`, `view-files.js` and `mcpui-adapter.js` are added to view.js for Views that need them.
`view-react.js` has hooks for Views that are written with React; esbuild bundles it with them.
The host inserts a shim into documents of other dialects.
"""

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any, Literal

_SDK = 'globalThis[Symbol.for("fanlight")]'

# These rely on the conventions at the top of view.js, which tests/browser/test_sdk_size.py checks.
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*[\s\S]*?\*/[ \t]*)\n", re.MULTILINE)
_EXPORT = re.compile(r"^export \{([^}]*)\};\s*\Z", re.MULTILINE)
# Strings are kept; spaces around punctuation are removed.
_STRING = r'"(?:[^"\\\n]|\\.)*"|`(?:[^`\\\n]|\\.)*`'
_STRING_OR_SPACED = re.compile(rf"({_STRING})| *([{{}}()\[\],;:?=!<>&|]) *")
# Line ends that JavaScript does not need: after an open or finished statement, or before a closing bracket or an
# operator. (Statements end with a semicolon, so a line that ends with `)` is the head of an `if` or `for`, or continues
# on the next line.)
_LINE_END = re.compile(r"(?<=[{}()\[,;:?=>&|])\n|\n(?=[})\]?:.])")
# The semicolon of the last statement in a block.
_STRING_OR_LAST = re.compile(rf"({_STRING})|;(?=}})")


@cache
def script(name: str) -> str:
    """Return a script without its comments and its indentation."""
    return _without_comments(files(__name__).joinpath(name).read_text(encoding="utf-8"))


def _without_comments(source: str) -> str:
    """Return a script or stylesheet, whose comments are on lines of their own, without them and its indentation."""
    return "\n".join(line for line in map(str.strip, _COMMENT.sub("", source).splitlines()) if line) + "\n"


_INLINE_COMMENT = re.compile(r"/\*\* [^\n]*? \*/ ?")
# The end of a line that JavaScript and CSS do not need. A line with `//` may end with a comment, and keeps its end.
_NEEDLESS_LINE_END = re.compile(r"^((?:(?!//).)*)(?:(?<=[{(\[,;])\n|\n(?=[})\]?.:]))", re.MULTILINE)


@cache
def served_script(name: str) -> str:
    """Return a script as the host serves it: like `script`, without inline type comments and most line breaks."""
    return compact(files(__name__).joinpath(name).read_text(encoding="utf-8"))


def compact(source: str) -> str:
    """Return a script or stylesheet without comments, inline type comments, indentation and most line breaks."""
    return _NEEDLESS_LINE_END.sub(r"\1", _INLINE_COMMENT.sub("", _without_comments(source)))


_MODULE = re.compile(r"^(?:import .*|export \{[^}]*\};)$\n?", re.MULTILINE)


@cache
def _shim(name: str) -> str:
    source = script("shim.js") + script(f"shim-{name}.js")
    return " ".join(_MODULE.sub("", source).splitlines())


def shim(name: Literal["mcpui", "openai"], options: dict[str, Any]) -> str:
    """Return a script element, on one line, that runs a shim with options."""
    # No `<`, so that nothing ends the script or begins a comment. Parsed, because in a literal `__proto__` is special.
    text = json.dumps(json.dumps(options)).replace("<", "\\u003c")
    return f"<script>(() => {{ {_shim(name)} start(window, JSON.parse({text})); }})();</script>"


def page(name: str) -> str:
    """Return one of the HTML files."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


@cache
def watch_element() -> str:
    """Return a script element, on one line, that reports a View's errors."""
    return f"<script>(() => {{ {' '.join(script('watch.js').splitlines())} }})();</script>"


@cache
def _parts(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the minified code of a script, and the names that it exports."""
    source = script(name)
    export = _EXPORT.search(source)
    assert export is not None, f"{name} does not end with its one export statement"
    return minified(source[: export.start()].rstrip("\n")), tuple(re.findall(r"\w+", export[1]))


def minified(script: str) -> str:
    """Return a script, which has no comments and follows the conventions of view.js, without needless characters."""
    code = _STRING_OR_SPACED.sub(lambda match: match[1] or match[2], script)
    return _STRING_OR_LAST.sub(lambda match: match[1] or "", _LINE_END.sub("", code))


@cache
def view_sdk(*, openai: bool = False) -> str:
    """Return view.js as classic-script statements, to be inlined before the View's own scripts.

    They put what view.js exports into `globalThis[Symbol.for("fanlight")]`. With `openai` the `App` there also
    runs with `window.openai` where there is no MCP Apps host.
    """
    code, names = _parts("view.js")
    sdk = f"{_SDK}=(()=>{{{code}\nreturn{{{','.join(names)}}};}})();"
    return sdk + f"\n{_SDK}=(()=>{{{_parts('view-openai.js')[0]}\nreturn withOpenAI;}})()({_SDK});" if openai else sdk


@cache
def themed_sdk() -> str:
    """Return the statements, after those of `view_sdk`, that make the SDK whose `App` follows the look of the host.

    They put it into `globalThis[Symbol.for("fanlight/theme")]`, with the same names.
    """
    return f"{sdk_global('theme')}=(()=>{{{_parts('view-theme.js')[0]}\nreturn withTheme;}})()({_SDK});"


@cache
def files_sdk() -> str:
    """Return the statements, after those of `view_sdk`, that define the module "fanlight/files"."""
    code, names = _parts("view-files.js")
    return f"{sdk_global('files')}=(()=>{{{code}\nreturn{{{','.join(names)}}};}})();"


def files_sdk_exports() -> tuple[str, ...]:
    """Return the names that the module "fanlight/files" exports."""
    return _parts("view-files.js")[1]


@cache
def react_hooks(sdk: str, react: str) -> str:
    """Return view-react.js as a module that imports the SDK and React from these specifiers."""
    text = served_script("view-react.js")
    for specifier, replacement in (("./view.js", sdk), ("react", react)):
        assert f'from "{specifier}";' in text
        text = text.replace(f'from "{specifier}";', f"from {json.dumps(replacement)};")
    return text


def react_hooks_exports() -> tuple[str, ...]:
    """Return the names that view-react.js exports."""
    return _parts("view-react.js")[1]


def sdk_global(name: str = "") -> str:
    """Return the expression under which scripts in a View find a part of the SDK, or view.js without a name."""
    return f'globalThis[Symbol.for("fanlight/{name}")]' if name else _SDK


def mcpui_adapter(options: dict[str, Any], *, openai: bool = False) -> str:
    """Return classic-script statements that run a widget written for mcp-ui as a View, with the SDK."""
    # No `<`, so that nothing ends the script. Parsed, because in a literal `__proto__` is special.
    given = json.dumps(json.dumps(options)).replace("<", "\\u003c")
    adapter = f"(()=>{{{_parts('mcpui-adapter.js')[0]}\nadapt({_SDK},JSON.parse({given}));}})();"
    return f"{view_sdk(openai=openai)}\n{adapter}"


def view_sdk_exports() -> tuple[str, ...]:
    """Return the names that view.js exports."""
    return _parts("view.js")[1]
