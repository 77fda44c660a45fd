"""Runs the esbuild of the author's project on scripts that import other files."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from fanlight import browser
from fanlight.protocol.errors import BundleError
from fanlight.protocol.source_lines import Run
from fanlight.server.bundle.sdk import REACT_HOOKS, no_export
from fanlight.server.bundle.source_map import in_development, of_source_map
from fanlight.temporary import TemporaryFolder

TIMEOUT = 60.0  # seconds after which esbuild is stopped, per script

_LOCATION = re.compile(r"^ {4}(.+):([0-9]+):[0-9]+:$", re.MULTILINE)
_ERROR = re.compile(r"^\S+ \[ERROR\] (.+)$", re.MULTILINE)
_NO_EXPORT = re.compile(r'No matching export in "([^"]+)" for import "([^"]+)"')
_UNRESOLVED = re.compile(r'Could not resolve "([^"]+)"')
_NODE_MODULE = re.compile(
    r"node:.+|(assert|async_hooks|buffer|child_process|cluster|console|constants|crypto|dgram|diagnostics_channel|dns|"
    r"domain|events|fs|http|http2|https|inspector|module|net|os|path|perf_hooks|process|punycode|querystring|readline|"
    r"repl|stream|string_decoder|sys|timers|tls|trace_events|tty|url|util|v8|vm|wasi|worker_threads|zlib)(/.*)?"
)
# What the hooks import as React. esbuild resolves aliases in the author's folder, with the `paths` of tsconfig.json, so
# that the hooks, which are elsewhere, and the View have the same React.
_REACT: Final = "fanlight:react"
_ALIASED = re.compile(rf' \(originally "{_REACT}"\)')
_IMAGES = ("apng", "avif", "gif", "jpeg", "jpg", "png", "svg", "webp")


@dataclass(frozen=True, slots=True)
class Entry:
    """A script to bundle: the file at `path`, or `text`, which starts at `line` of the file at `path`."""

    path: Path
    folder: Path
    text: str | None
    line: int
    format: Literal["esm", "iife"]


@dataclass(frozen=True, slots=True)
class Output:
    """The output of esbuild: one script, and the files that it was made of.

    `external` has the imports that were left out, as (file, specifier). `stylesheets` are in the order of the imports.
    """

    text: str
    files: tuple[Path, ...]
    external: tuple[tuple[Path, str], ...]
    stylesheets: tuple["Stylesheet", ...]
    lines: tuple[Run, ...] = ()


@dataclass(frozen=True, slots=True)
class Stylesheet:
    """A stylesheet file that the script `importer` imports as `specifier`."""

    path: Path
    importer: Path
    specifier: str


def find_esbuild(folder: Path) -> str | None:
    """Return the esbuild of the nearest `node_modules` at or above a folder, else the one on PATH."""
    absolute = folder.absolute()
    for parent in (absolute, *absolute.parents):
        if found := shutil.which("esbuild", path=str(parent / "node_modules" / ".bin")):
            return found
    return shutil.which("esbuild")


def run_esbuild(program: str, entry: Entry, external: Iterable[str]) -> Output:
    """Bundle a script with its imports, except those of the `external` specifiers."""
    with TemporaryFolder() as folder:
        script, metafile = folder.path / "script.js", folder.path / "meta.json"
        options = (*_options(entry, external), *_hooks(folder.path))
        done = _run([program, *options, f"--outfile={script}", f"--metafile={metafile}"], entry)
        if done.returncode:
            raise _error(entry, done.stderr.decode("utf-8", "replace"), folder.path)
        output = _output(entry, script.read_bytes().decode("utf-8"), json.loads(metafile.read_bytes()), folder.path)
        if not in_development():
            return output
        map = json.loads(script.with_name("script.js.map").read_bytes())
        return replace(output, lines=of_source_map(map, script.parent.resolve(), entry.folder.resolve()))


def _options(entry: Entry, external: Iterable[str]) -> list[str]:
    options = [
        "--bundle",
        f"--format={entry.format}",
        "--platform=browser",
        "--target=es2022",
        "--charset=utf8",
        "--log-level=error",
        "--log-limit=1",
        "--color=false",
        '--define:process.env.NODE_ENV="production"',
        *(f"--external:{specifier}" for specifier in external),
        *(f"--loader:.{suffix}=dataurl" for suffix in _IMAGES),
        "--loader:.css=empty",  # Fanlight inlines stylesheets itself, in a form that the CSP of hosts allows
        *(["--sourcemap=external", "--sources-content=false"] if in_development() else []),
    ]
    if entry.text is None:
        relative = Path(os.path.relpath(entry.path, entry.folder))
        return [f"./{relative.as_posix()}", *options]
    return [*options, f"--sourcefile={entry.path.name}"]


def _hooks(folder: Path) -> list[str]:
    """Write the hooks for React into a folder, and return the options with which scripts find them there."""
    options = [f"--alias:{_REACT}=react"]
    for specifier, sdk in REACT_HOOKS.items():
        path = _hooks_path(folder, sdk)
        path.write_text(browser.react_hooks(sdk, _REACT), encoding="utf-8")
        options.append(f"--alias:{specifier}={path}")
    return options


def _hooks_path(folder: Path, sdk: str) -> Path:
    return folder / f"{sdk.replace('/', '-')}-react.js"


def _is_ours(name: str, folder: Path) -> bool:
    """Return whether a path in the output of esbuild is in our temporary folder, whose name is unique."""
    return folder.name in Path(name).parts


def _run(command: list[str], entry: Entry) -> subprocess.CompletedProcess[bytes]:
    # Blank lines before the script give it the line numbers of the document.
    text = b"" if entry.text is None else b"\n" * (entry.line - 1) + entry.text.encode("utf-8")
    try:
        return subprocess.run(command, input=text, cwd=entry.folder, capture_output=True, timeout=TIMEOUT, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        message = f"esbuild was stopped after {TIMEOUT:g} s. Bundle the script yourself and refer to the result."
        raise BundleError(entry.path, entry.line, message) from None
    except (OSError, ValueError) as error:
        message = f"esbuild ({command[0]}) could not be started: {error}. Run `npm install esbuild` again."
        raise BundleError(entry.path, entry.line, message) from None


def _error(entry: Entry, log: str, folder: Path) -> BundleError:
    found = _ERROR.search(log)
    message = _ALIASED.sub("", (found[1] if found else log).strip().rstrip(":"))
    path, line = entry.path, entry.line
    location = _LOCATION.search(log)
    if location and not _is_ours(location[1], folder):
        path, line = _path(entry, location[1]), int(location[2])
    missing = _NO_EXPORT.search(message)
    if missing and _is_ours(missing[1], folder):
        file = Path(missing[1]).name
        specifier = next(each for each, sdk in REACT_HOOKS.items() if _hooks_path(folder, sdk).name == file)
        return BundleError(path, line, no_export(specifier, missing[2], browser.react_hooks_exports()))
    unresolved = _UNRESOLVED.search(message)
    if unresolved and is_node_module(unresolved[1]):
        message += f". {node_module_error(unresolved[1])}"
    elif unresolved and not unresolved[1].startswith((".", "/")):
        message += f". Install it with `npm install {package_name(unresolved[1])}`"
    return BundleError(path, line, f"esbuild: {message}.")


def package_name(specifier: str) -> str:
    """Return the package of a specifier, such as `three` for `three/addons/x.js`."""
    return "/".join(specifier.split("/")[: 2 if specifier.startswith("@") else 1])


def is_node_module(specifier: str) -> bool:
    """Return whether a specifier names a module that is built into Node."""
    return _NODE_MODULE.fullmatch(specifier) is not None


def node_module_error(specifier: str) -> str:
    """Return the reason why a module that is built into Node cannot be imported."""
    return f'"{specifier}" is a module of Node, and a View runs in a browser. Do this in a tool, and call the tool'


def _path(entry: Entry, name: str) -> Path:
    return (
        entry.path
        if name == entry.path.name and entry.text is not None
        else Path(os.path.normpath(entry.folder / name))
    )


def _output(
    entry: Entry, text: str, meta: dict[str, dict[str, dict[str, list[dict[str, object]]]]], folder: Path
) -> Output:
    files: list[Path] = []
    external: list[tuple[Path, str]] = []
    imported: dict[str, Stylesheet] = {}
    for name, module in meta["inputs"].items():
        if name.startswith("(disabled):"):
            continue
        if _is_ours(name, folder):
            # The name of the folder is random, and the same files make the same document.
            text = text.replace(name, Path(name).name)
            continue
        path = _path(entry, name)
        if entry.text is None or path != entry.path:
            files.append(path)
        external += [(path, str(found["path"])) for found in module["imports"] if found.get("external")]
        for found in module["imports"]:
            target = str(found["path"])
            if target.partition("?")[0].lower().endswith(".css") and not found.get("external"):
                specifier = str(found.get("original", target))
                imported.setdefault(target, Stylesheet(_path(entry, target), path, specifier))
    # The inputs are in execution order: an imported file comes before the files that import it.
    stylesheets = tuple(imported[name] for name in meta["inputs"] if name in imported)
    return Output(text, tuple(files), tuple(external), stylesheets)
