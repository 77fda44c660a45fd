"""The View SDK in a document: one script that defines it, and imports rewritten to read from that script."""

import difflib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from fanlight import browser
from fanlight.protocol.errors import BundleError
from fanlight.server.bundle.imports import Import
from fanlight.server.bundle.script import script_text
from fanlight.server.bundle.source import Source, replace

PACKAGE = "@modelcontextprotocol/ext-apps"


@dataclass(frozen=True)
class Module:
    """A module of the SDK: what it exports, where scripts find that, and what defines it after view.js."""

    exports: Callable[[], tuple[str, ...]]
    expression: str
    statements: Callable[[], str] | None = None


_VIEW: Final = Module(browser.view_sdk_exports, browser.sdk_global())
MODULES: Final = {
    PACKAGE: _VIEW,
    f"{PACKAGE}/app-with-deps": _VIEW,
    "fanlight": Module(browser.view_sdk_exports, browser.sdk_global("theme"), browser.themed_sdk),
    "fanlight/files": Module(browser.files_sdk_exports, browser.sdk_global("files"), browser.files_sdk),
}
"""The modules of the SDK by specifier. Only those that a document imports are inlined, besides view.js."""

REACT_HOOKS: Final = {f"{PACKAGE}/react": PACKAGE, f"{PACKAGE}/react-with-deps": PACKAGE, "fanlight/react": "fanlight"}
"""The modules of hooks for React, each with the module of the SDK that it imports. esbuild bundles them."""

Fail = Callable[[Import, str, str], BundleError]  # (the import, the invalid name, the message)


@cache
def sdk_element(openai: bool, specifiers: frozenset[str]) -> str:
    """Return the script element that defines the modules of the SDK that a document imports. Cached."""
    parts = [part() for specifier in MODULES if specifier in specifiers and (part := MODULES[specifier].statements)]
    source = Source("view.js", "\n".join((browser.view_sdk(openai=openai), *parts)), None)
    return f"<script>{script_text(source, module=False)}</script>"


def use_sdk(text: str, imports: list[Import], fail: Fail) -> str:
    """Rewrite `imports`, all of the SDK, into constants. Line numbers do not change."""
    edits: list[tuple[int, int, str]] = []
    declarations: list[str] = []
    for found in imports:
        _check(found, fail)
        lines = re.sub(r"[^\n\r]", "", text[found.start : found.end])
        if found.kind == "dynamic":
            exports = MODULES[found.specifier].expression
            edits.append((found.start, found.end, f"Promise.resolve({exports}{lines})"))
        else:
            declarations += _declarations(found)
            # The semicolon ends the line before, as the import did, if that has none of its own.
            edits.append((found.start, found.end, ";" + lines))
    # Imports are hoisted, so the constants come first, on the first line of the script.
    return "".join(declarations) + replace(text, edits)


def _declarations(found: Import) -> list[str]:
    exports = MODULES[found.specifier].expression
    declarations = [f"const {found.namespace} = {exports}; "] if found.namespace else []
    if found.names:
        names = ", ".join(
            name if name == local else f"{name if name.isidentifier() else json.dumps(name)}: {local}"
            for name, local in found.names
        )
        declarations.append(f"const {{{names}}} = {exports}; ")
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
    exports = MODULES[package].exports()
    for name, _ in found.names:
        if name not in exports:
            raise fail(found, name, no_export(package, name, exports))


def no_export(specifier: str, name: str, exports: tuple[str, ...]) -> str:
    """Return the message for an import of a name that a module does not export."""
    return f'"{specifier}" has no export "{name}". {_advice(name, exports)}'


def _advice(name: str, exports: tuple[str, ...]) -> str:
    by_lower = {export.lower(): export for export in sorted(exports)}
    near = difflib.get_close_matches(name.lower(), by_lower, n=3)
    if near:
        return "Did you mean " + " or ".join(f'"{by_lower[match]}"' for match in near) + "?"
    return "It has: " + ", ".join(sorted(exports)) + "."
