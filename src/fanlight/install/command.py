"""The command line of `fanlight install`: its options, messages and exit codes."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from fanlight import signals
from fanlight.dev.targets import parse_headers
from fanlight.host.upstream.config import Url
from fanlight.install.change import Change, install, remove
from fanlight.install.errors import InstallError
from fanlight.install.hosts import HOSTS, Machine
from fanlight.install.launch import Launch, Request, launch
from fanlight.protocol.errors import FanlightError, UsageError
from fanlight.protocol.jsonrpc import JSONObject

_WORDS: Final = {
    "added": ("add", "to"),
    "updated": ("update", "in"),
    "replaced": ("replace", "in"),
    "removed": ("remove", "from"),
}
DONE, NOT_CHANGED, USAGE, NOT_STARTED = range(4)


def run(options: argparse.Namespace, command: Sequence[str]) -> int:
    """Change the configuration of a host, and return the exit code."""
    try:
        return _run(options, command)
    except InstallError as error:
        return _fail(options, error, NOT_CHANGED)
    except FanlightError as error:
        return _fail(options, error, USAGE)


def _run(options: argparse.Namespace, command: Sequence[str]) -> int:
    host = HOSTS[options.host]
    machine = Machine(Path.home(), os.environ, Path.cwd())
    if options.config is not None and options.scope is not None:
        raise UsageError("--config names the file itself, so --scope has no meaning. Write one of them.")
    scope = None if options.config is not None else host.scope(options.scope)
    path = options.config.expanduser().absolute() if scope is None else host.places[scope](machine)
    found = launch(
        Request(
            options.server,
            options.uvx,
            command,
            options.name,
            options.python,
            options.env,
            parse_headers(options.header),
            must_exist=not options.remove,
            full_paths=scope != "project",
        )
    )
    decide = remove if options.remove else install
    change = decide(host, path, found.name, host.entry(found.name, found.target), force=options.force)
    notes = [*found.notes, *change.notes]
    if scope == "user" and change.action == "added" and not path.parent.is_dir():
        notes.append(f"{path.parent} does not exist. Is {host.title} installed?")
    started: JSONObject | None = None
    if not options.remove and not options.no_check:
        try:
            started = _start(found, options.timeout)
        except FanlightError as error:
            return _fail(options, f"{error}\n{_advice(found)}", NOT_STARTED)
    backup = None if options.dry_run else change.write()
    next_step = None if change.text is None else host.next(scope, is_removed=options.remove)
    if options.json:
        _print_json(_as_json(change, options, started, backup, notes, next_step))
    else:
        _print(change, options, started, backup, next_step)
        for note in notes:
            print(f"fanlight install: {note}", file=sys.stderr)
    return DONE


def _advice(found: Launch) -> str:
    if isinstance(found.target, Url):
        return "Nothing was written. Start the server, pass a token with --header, or add --no-check."
    return "Nothing was written. Fix the server, name another Python with --python, or add --no-check."


def _start(found: Launch, timeout: float) -> JSONObject:
    from fanlight.install.startup import start

    started = signals.run(start, found.name, found.target, timeout)
    return {"tools": started.tools, "views": started.views}


def _print(
    change: Change,
    options: argparse.Namespace,
    started: JSONObject | None,
    backup: Path | None,
    next_step: str | None,
) -> None:
    path = change.file.path
    if started is not None:
        print(f"{change.name} starts. It has {_count(started['tools'], 'tool')}, {started['views']} with a View.")
    if options.dry_run and change.text is not None:
        print(change.file.diff(change.text))
    if change.text is None:
        print(f"{change.name} is {'already' if change.action == 'unchanged' else 'not'} in {path}.")
    else:
        verb, preposition = _WORDS[change.action]
        done = f"Would {verb}" if options.dry_run else change.action.capitalize()
        print(f"{done} {change.name} {preposition} {path}.")
    if backup is not None:
        print(f"The file as it was before is {backup}.")
    if next_step is not None and not options.dry_run:
        print(next_step)


def _as_json(
    change: Change,
    options: argparse.Namespace,
    started: JSONObject | None,
    backup: Path | None,
    notes: Sequence[str],
    next_step: str | None,
) -> JSONObject:
    return {
        "host": change.host.name,
        "name": change.name,
        "file": str(change.file.path),
        "action": change.action,
        "written": change.text is not None and not options.dry_run,
        "backup": None if backup is None else str(backup),
        "diff": None if change.text is None else change.file.diff(change.text),
        "entry": change.entry,
        "server": started,
        "notes": list(notes),
        "next": next_step,
        "error": None,
    }


def _fail(options: argparse.Namespace, error: Exception | str, code: int) -> int:
    print(f"fanlight install: {error}", file=sys.stderr)
    if options.json:
        _print_json({"host": options.host, "action": None, "written": False, "error": str(error)})
    return code


def _print_json(report: JSONObject) -> None:
    print(json.dumps(report, indent=2, ensure_ascii=False))


def _count(number: Any, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
