"""The command line of `fanlight build`: its options, messages and exit codes."""

import argparse
import gzip
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from fanlight import signals
from fanlight.dev.prewarm import find_script
from fanlight.dev.source_lines import Lines
from fanlight.dev.targets import parse_headers, servers, with_source_lines
from fanlight.host import Host
from fanlight.host.documents.reader import read_document
from fanlight.host.documents.tool_link import view_uri
from fanlight.host.errors import ConfigError
from fanlight.host.settings import Limits
from fanlight.protocol.csp import Csp
from fanlight.protocol.errors import BundleError, FanlightError, UsageError
from fanlight.server.bundle import bundle_file
from fanlight.single_file.contents import Part, contents

WRITTEN, NOT_BUNDLED, USAGE = range(3)

_HTML: Final = (".html", ".htm")
_MAX_PARTS: Final = 15
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Document:
    """A bundled document: its name, its HTML, what it consists of, and the files of the author that are known."""

    name: str
    uri: str | None
    html: str
    parts: Sequence[Part]
    files: Sequence[Path] = ()


def run(options: argparse.Namespace, command: Sequence[str]) -> int:
    """Write the documents and return the exit code."""
    try:
        documents = _documents(options, command)
        outputs = _outputs(options, documents, _server_files(options.source, command))
    except BundleError as error:
        return _fail(options, str(error), NOT_BUNDLED)
    except (UsageError, ConfigError) as error:
        return _fail(options, str(error), USAGE)
    except FanlightError as error:
        return _fail(options, str(error), NOT_BUNDLED)
    for document, output in zip(documents, outputs, strict=True):
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_bytes(document.html.encode())
        except OSError as error:
            return _fail(options, f"{output} cannot be written: {error.strerror}.", USAGE)
    if options.json:
        views = [_describe(document, output) for document, output in zip(documents, outputs, strict=True)]
        print(json.dumps({"error": None, "views": views}, indent=2))
    else:
        print("\n\n".join(_table(*pair) for pair in zip(documents, outputs, strict=True)))
    return WRITTEN


def _fail(options: argparse.Namespace, message: str, code: int) -> int:
    print(f"fanlight build: {message}", file=sys.stderr)
    if options.json:
        print(json.dumps({"error": message, "views": []}, indent=2))
    return code


def _documents(options: argparse.Namespace, command: Sequence[str]) -> list[Document]:
    source = options.source
    if source is None and not command:
        raise UsageError("Name a View (.html) or a server: fanlight build clock.html")
    lines = Lines()
    try:
        if source is not None and Path(source).suffix.lower() in _HTML:
            if options.view:
                raise UsageError("--view is for servers, and an .html file is one View.")
            return [_of_file(Path(source), options.allow, lines)]
        if options.allow:
            raise UsageError("--allow is for .html files. The Views of a server declare their own domains.")
        return signals.run(_of_server, options, command, lines)
    finally:
        lines.close()


def _of_file(path: Path, allowed: Sequence[str], lines: Lines) -> Document:
    try:
        csp = Csp(resource_domains=allowed, frame_domains=allowed, base_uri_domains=allowed)
    except FanlightError as error:
        raise UsageError(f"--allow is not valid: {error}") from None
    if not path.is_file():
        raise UsageError(f"{path} does not exist, or is not a file. Name the .html file of a View.")
    with _reporting(lines):
        bundle = bundle_file(path, csp)
    return _document(path.stem, None, bundle.html, lines, bundle.files)


@contextmanager
def _reporting(lines: Lines) -> Iterator[None]:
    """Let the bundler write source maps in a block."""
    before = {name: os.environ.get(name) for name in lines.environment}
    os.environ.update(lines.environment)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _document(name: str, uri: str | None, html: str, lines: Lines, files: Sequence[Path] = ()) -> Document:
    sha256 = hashlib.sha256(html.encode()).hexdigest()
    return Document(name, uri, html, contents(html, lines.runs(sha256)), (*files, *lines.files(sha256)))


async def _of_server(options: argparse.Namespace, command: Sequence[str], lines: Lines) -> list[Document]:
    targets = [] if options.source is None else [options.source]
    found = servers(targets, command, headers=parse_headers(options.header), only=options.server)
    if len(found) != 1:
        raise UsageError(f"{options.source} names several servers: {', '.join(found)}. Choose one with --server.")
    ((name, served),) = found.items()
    async with Host({name: with_source_lines(served.target, lines)}) as host:
        connection = host.servers[name]
        await connection.ready()
        tools = {str(tool["name"]): uri for tool in connection.tools if (uri := view_uri(tool)) is not None}
        uris = list(dict.fromkeys(tools.values()))
        chosen = list(dict.fromkeys(tools.get(view, view) for view in options.view))
        for uri in chosen:
            if uri not in uris:
                raise UsageError(f"{name} has no View {uri!r}. Tools with a View: {', '.join(tools) or 'none'}.")
        if not uris:
            raise UsageError(f"No tool of {name} has a View.")
        documents = [await read_document(connection, uri) for uri in chosen or uris]
    return [_document(_stem(each.uri), each.uri, each.html, lines) for each in documents]


def _stem(uri: str) -> str:
    last = uri.rstrip("/").rsplit("/", 1)[-1]
    return _NOT_IN_NAMES.sub("-", last).removesuffix(".html").strip("-.") or "view"


def _server_files(source: str | None, command: Sequence[str]) -> list[Path]:
    """Return the files that the command line names as the server."""
    named = [*command, *(() if source is None else (source, find_script(source) or source))]
    return [path for path in map(Path, named) if path.is_file()]


def _outputs(options: argparse.Namespace, documents: Sequence[Document], server_files: Sequence[Path]) -> list[Path]:
    """Return where each document is written, or raise UsageError if that would overwrite what it must not."""
    given: str | None = options.output
    to_folder = given is not None and (given.endswith(("/", os.sep)) or Path(given).is_dir())
    if given is not None and not to_folder and len(documents) > 1:
        names = ", ".join(document.uri or document.name for document in documents)
        raise UsageError(f"-o {given} is one file, and there are {len(documents)} Views: {names}. Write -o {given}/.")
    outputs: list[Path] = []
    for document in documents:
        if given is not None and not to_folder:
            output = Path(given)
        else:
            output = _free(Path(given or "."), document.name, outputs)
        if any(_is_one_of(output, each.files) for each in documents):
            raise UsageError(f"{output} is a source of a View and is never overwritten. Choose another file with -o.")
        if _is_one_of(output, server_files):
            raise UsageError(f"{output} is the server and is never overwritten. Choose another file with -o.")
        if output.exists() and not options.force:
            raise UsageError(f"{output} exists. Overwrite it with --force, or choose another file with -o.")
        outputs.append(output)
    return outputs


def _is_one_of(output: Path, files: Sequence[Path]) -> bool:
    return output.exists() and any(file.exists() and output.samefile(file) for file in files)


def _free(folder: Path, name: str, taken: Sequence[Path]) -> Path:
    number, output = 2, folder / f"{name}.bundled.html"
    while output in taken:
        output = folder / f"{name}-{number}.bundled.html"
        number += 1
    return output


def _describe(document: Document, output: Path) -> dict[str, object]:
    return {
        "file": str(output),
        "uri": document.uri,
        "bytes": len(document.html.encode()),
        "gzip": _compressed(document),
        "parts": [asdict(part) for part in document.parts],
    }


def _compressed(document: Document) -> int:
    return len(gzip.compress(document.html.encode(), mtime=0))


def _table(document: Document, output: Path) -> str:
    total = len(document.html.encode())
    heading = f"{output}{f'  ({document.uri})' if document.uri else ''}"
    rows = [f"{total:>12,}  bytes in total, {_compressed(document):,} with gzip"]
    rows += [f"{part.bytes:>12,}  {part.kind:<9} {part.name}" for part in document.parts[:_MAX_PARTS]]
    rest = document.parts[_MAX_PARTS:]
    if rest:
        rows.append(f"{sum(part.bytes for part in rest):>12,}  in {len(rest)} smaller parts")
    limit = Limits().server_bytes
    if total > limit:
        rows.append(f"More than the {limit:,} bytes that a Fanlight host accepts from a server by default.")
    return "\n".join((heading, *rows))
