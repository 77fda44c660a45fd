"""Makes a script self-contained: rewrites imports of the SDK, and bundles other imports with esbuild."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from fanlight.protocol.errors import BundleError
from fanlight.protocol.source_lines import Run
from fanlight.server.bundle.esbuild import (
    Entry,
    Output,
    Stylesheet,
    find_esbuild,
    is_node_module,
    node_module_error,
    package_name,
    run_esbuild,
)
from fanlight.server.bundle.imports import Import, find_imports
from fanlight.server.bundle.javascript import JavaScriptError
from fanlight.server.bundle.reference import References
from fanlight.server.bundle.script import script_text
from fanlight.server.bundle.sdk import MODULES, PACKAGE, REACT_HOOKS, Fail, use_sdk
from fanlight.server.bundle.source import Source, decode
from fanlight.server.bundle.source_map import in_development, name_of
from fanlight.server.bundle.stylesheet import Sheet, merge_file

_COMPILED = frozenset({".ts", ".mts", ".cts", ".tsx", ".jsx"})
_URL = re.compile(r"(?:https?:)?//", re.IGNORECASE)
_OTHER_URL = re.compile(r"(?:data|blob):", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Script:
    """The text of a script element, the modules of the SDK and the stylesheets that the script imports."""

    text: str
    sdk: frozenset[str] = frozenset()
    sheets: tuple[Sheet, ...] = ()
    lines: tuple[Run, ...] = ()


class Modules:
    """Resolves the imports of one document's scripts."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._mapped: list[str] = []  # the specifiers of the import map; one with a final "/" is a prefix

    def add_import_map(self, source: Source) -> None:
        """Record the specifiers that an import map maps to declared domains. Those of the SDK are ignored."""
        for specifier, address in _mappings(source):
            if specifier in MODULES or specifier in REACT_HOOKS:
                continue
            pos = max(source.text.find(json.dumps(specifier)), 0)
            if not isinstance(address, str) or not _URL.match(address):
                raise source.error(
                    pos,
                    f'the import map sends "{specifier}" to {json.dumps(address)}, expected an https URL: files of '
                    "a View have no URL. Import the file itself, with a relative path.",
                )
            self._references.check_url(address, source, pos, "resource_domains")
            self._mapped.append(specifier)

    def inline(self, source: Source, *, module: bool) -> Script:
        """Return the replacement of a script in the document."""
        imports = _imports(source)
        if not imports:
            return Script(source.text)
        if first := self._first_to_bundle(source, imports, module):
            assert source.folder is not None
            entry = Entry(Path(source.path), source.folder, source.text, source.line_at(0), "esm")
            return self._bundled(source, entry, first.at, _need(first))
        script = self._with_sdk(source, imports, lambda found, _, message: source.error(found.at, message))
        return replace(script, lines=_own_lines(source, source.folder))

    def file(self, source: Source, folder: Path, *, module: bool) -> Script:
        """Return the replacement of a script file. Paths in errors and comments are relative to `folder`."""
        path = Path(source.path)
        if path.suffix.lower() in _COMPILED:
            entry = Entry(path, folder, None, 1, "esm" if module else "iife")
            return self._bundled(source, entry, 0, _needs_esbuild(f'"{path.name}" is not plain JavaScript'))
        imports = _imports(source)
        if first := self._first_to_bundle(source, imports, module):
            entry = Entry(path, folder, None, 1, "esm")
            return self._bundled(source, entry, first.at, _need(first))
        script = self._with_sdk(source, imports, lambda found, _, message: source.error(found.at, message))
        text = script_text(replace(source, text=script.text), module=module)
        return replace(script, text=text, lines=_own_lines(source, folder))

    def _with_sdk(self, source: Source, imports: list[Import], fail: Fail) -> Script:
        of_sdk = [found for found in imports if found.specifier in MODULES]
        text = use_sdk(source.text, of_sdk, fail) if of_sdk else source.text
        return Script(text, frozenset(found.specifier for found in of_sdk))

    def _first_to_bundle(self, source: Source, imports: list[Import], module: bool) -> Import | None:
        """Check every import, and return the first one that only esbuild can resolve."""
        local = [found for found in imports if not self._is_external(found.specifier, source, found.at)]
        if not module:
            _check_classic(source, imports, local)
        return local[0] if local else None

    def _is_external(self, specifier: str, source: Source, pos: int) -> bool:
        """Return whether an import stays unchanged, or raise BundleError if it can never be resolved."""
        if specifier in MODULES or self._is_mapped(specifier) or _OTHER_URL.match(specifier):
            return True
        is_relative = specifier.startswith(("./", "../"))
        if _URL.match(specifier) or (is_relative and source.base is not None):
            url = urljoin(source.base or "", specifier)
            self._references.check_url(url, source, pos, "resource_domains")
            return True
        if specifier.startswith("/"):
            raise source.error(pos, f'the import "{specifier}" is an absolute path. Write a relative path.')
        is_hooks = specifier in REACT_HOOKS
        if not is_hooks and specifier.startswith((f"{PACKAGE}/", "fanlight/")):
            raise source.error(
                pos,
                f'the import "{specifier}" is not in the View SDK that Fanlight inlines. Import from one of '
                f"{', '.join([*MODULES, *REACT_HOOKS])}, or build the View with the npm package and Vite into a "
                "single file.",
            )
        if source.folder is None:
            relative = "needs the React in your folder" if is_hooks else "is relative to a folder"
            raise source.error(
                pos,
                f'the import "{specifier}" {relative}, and a View that is a string has none. '
                "Save the View as an .html file.",
            )
        return False

    def _is_mapped(self, specifier: str) -> bool:
        return any(
            specifier.startswith(mapped) if mapped.endswith("/") else specifier == mapped for mapped in self._mapped
        )

    def _bundled(self, source: Source, entry: Entry, pos: int, need: str) -> Script:
        program = find_esbuild(entry.folder)
        if program is None:
            raise source.error(pos, need)
        mapped = (name + "*" if name.endswith("/") else name for name in self._mapped)
        output = run_esbuild(program, entry, (*MODULES, *mapped))
        self._references.files.update(dict.fromkeys(output.files))
        importers = _Importers(source, output)
        for path, specifier in output.external:
            self._is_external(specifier, *importers.place(path, specifier))
        made = Source(source.path, output.text, source.folder)
        script = self._with_sdk(made, _imports_of_output(output, source, pos), importers.fail)
        return Script(
            script_text(replace(made, text=script.text), module=entry.format == "esm"),
            script.sdk,
            tuple(self._sheet(found, importers) for found in output.stylesheets),
            output.lines,
        )

    def _sheet(self, found: Stylesheet, importers: "_Importers") -> Sheet:
        importer, pos = importers.place(found.importer, found.specifier)
        name = found.path.name.lower()
        if name.endswith(".module.css") or "?" in name:
            raise importer.error(
                pos,
                f'the import "{found.specifier}" needs a value, and Fanlight cannot import stylesheets as values. '
                'Write import "./name.css" to apply its rules, or build the View with Vite into a single file.',
            )
        return merge_file(found.path, importer, pos, self._references)


class _Importers:
    """The files that esbuild read, for errors with the file and line of an import."""

    def __init__(self, source: Source, output: Output) -> None:
        self._source = source
        self._output = output
        self._sources = {Path(source.path): source}

    def place(self, path: Path, word: str) -> tuple[Source, int]:
        """Return a file and the first position of a word in it, preferably in quotes."""
        source = self._sources.get(path)
        if source is None:
            source = self._sources[path] = Source(path, decode(path, path.read_bytes()), path.parent)
        quoted = [pos for quote in "\"'" if (pos := source.text.find(f"{quote}{word}{quote}")) >= 0]
        return source, min(quoted) if quoted else max(source.text.find(word), 0)

    def fail(self, found: Import, name: str, message: str) -> BundleError:
        """Return the error for an import of the SDK, with the file that contains it."""
        places = [self.place(path, name) for path, external in self._output.external if external == found.specifier]
        source, pos = next((place for place in places if name in place[0].text), (self._source, 0))
        return source.error(pos, message)


def _imports(source: Source) -> list[Import]:
    try:
        return find_imports(source.text)
    except JavaScriptError as error:
        raise source.error(
            error.pos,
            f"{error}, so the imports of this script cannot be found. Correct this line. If it is valid JavaScript, "
            "write it more simply, or bundle the script with esbuild and refer to the result.",
        ) from None


def _imports_of_output(output: Output, source: Source, pos: int) -> list[Import]:
    try:
        return find_imports(output.text)
    except JavaScriptError as error:
        line = output.text[error.pos : error.pos + 80].splitlines()[0]
        raise source.error(
            pos,
            f"the output of esbuild for this script cannot be read: {error}: `{line}`. Write this code more simply.",
        ) from None


def _own_lines(source: Source, folder: Path | None) -> tuple[Run, ...]:
    """Return the source map of a script that keeps its line numbers."""
    return (Run(1, 1, name_of(source.path, folder), source.line_at(0)),) if in_development() else ()


def _mappings(source: Source) -> Iterator[tuple[str, Any]]:
    try:
        content = json.loads(source.text)
        yield from content.get("imports", {}).items()
        for scope in content.get("scopes", {}).values():
            yield from scope.items()
    except (ValueError, AttributeError):
        raise source.error(0, 'the import map is not valid. Expected JSON such as {"imports": {}}.') from None


def _check_classic(source: Source, imports: list[Import], local: list[Import]) -> None:
    for found in imports:
        if found.kind != "dynamic":
            raise source.error(
                found.start, 'only a module can import. Write <script type="module"> instead of <script>.'
            )
    if local:
        raise source.error(
            local[0].at,
            f'a script that is not a module imports "{local[0].specifier}", and bundling would hide its variables from '
            'other scripts. Write <script type="module">.',
        )


def _need(found: Import) -> str:
    if found.specifier.startswith("."):
        return _needs_esbuild(f'the script imports the file "{found.specifier}"')
    if is_node_module(found.specifier):
        return f"{node_module_error(found.specifier)}."
    if found.specifier in REACT_HOOKS:
        return _needs_esbuild(f'the script imports the hooks of "{found.specifier}"', "react", "react-dom")
    package = package_name(found.specifier)
    return _needs_esbuild(f'the script imports the package "{package}"', package)


def _needs_esbuild(reason: str, *packages: str) -> str:
    return (
        f"{reason}, so it has to be bundled with esbuild, which was not found. "
        f"Run `npm install --save-dev {' '.join((*packages, 'esbuild'))}` in the project, or put esbuild on PATH; "
        "or build the View with Vite into a single file."
    )
