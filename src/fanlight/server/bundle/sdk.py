"""The View SDK in a document: one script that defines it, and imports rewritten to read from that script."""

import difflib
import json
import re
from collections.abc import Callable
from functools import cache

from fanlight import browser
from fanlight.protocol.errors import BundleError
from fanlight.server.bundle.imports import Import
from fanlight.server.bundle.script import script_text
from fanlight.server.bundle.source import Source, replace

PACKAGE = "@modelcontextprotocol/ext-apps"
SPECIFIERS = (PACKAGE, f"{PACKAGE}/app-with-deps", "fanlight")

_EXPORTS = 'globalThis[Symbol.for("fanlight")]'

Fail = Callable[[Import, str, str], BundleError]  # (the import, the invalid name, the message)


@cache
def sdk_element(openai: bool) -> str:
    """Return the script element that defines the SDK. Cached for the process."""
    source = Source("view.js", browser.view_sdk(openai=openai), None)
    return f"<script>{script_text(source, module=False)}</script>"


@cache
def _exports() -> frozenset[str]:
    return frozenset(browser.view_sdk_exports())


def use_sdk(text: str, imports: list[Import], fail: Fail) -> str:
    """Rewrite `imports`, all of the SDK, into constants. Line numbers do not change."""
    edits: list[tuple[int, int, str]] = []
    declarations: list[str] = []
    for found in imports:
        _check(found, fail)
        lines = re.sub(r"[^\n\r]", "", text[found.start : found.end])
        if found.kind == "dynamic":
            edits.append((found.start, found.end, f"Promise.resolve({_EXPORTS}{lines})"))
        else:
            declarations += _declarations(found)
            # The semicolon ends the line before, as the import did, if that has none of its own.
            edits.append((found.start, found.end, ";" + lines))
    # Imports are hoisted, so the constants come first, on the first line of the script.
    return "".join(declarations) + replace(text, edits)


def _declarations(found: Import) -> list[str]:
    declarations = [f"const {found.namespace} = {_EXPORTS}; "] if found.namespace else []
    if found.names:
        names = ", ".join(
            name if name == local else f"{name if name.isidentifier() else json.dumps(name)}: {local}"
            for name, local in found.names
        )
        declarations.append(f"const {{{names}}} = {_EXPORTS}; ")
    return declarations


def _check(found: Import, fail: Fail) -> None:
    package = found.specifier
    if found.kind == "export":
        raise fail(
            found,
            package,
            f'`export ... from "{package}"` has no effect in a View, which nothing imports. Write an import.',
        )
    if found.end < 0:
        raise fail(found, package, f'`import("{package}", ...)` cannot have options here. Write import("{package}").')
    if found.default or any(name == "default" for name, _ in found.names):
        wrong = found.default or "default"
        raise fail(found, wrong, f'"{package}" has no default export. Write import {{ App }} from "{package}".')
    for name, _ in found.names:
        if name not in _exports():
            raise fail(found, name, f'"{package}" has no export "{name}". {_advice(name)}')


def _advice(name: str) -> str:
    by_lower = {export.lower(): export for export in sorted(_exports())}
    near = difflib.get_close_matches(name.lower(), by_lower, n=3)
    if near:
        return "Did you mean " + " or ".join(f'"{by_lower[match]}"' for match in near) + "?"
    return "It has: " + ", ".join(sorted(_exports())) + "."
