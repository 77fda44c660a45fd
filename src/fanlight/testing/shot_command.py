"""The command line of `fanlight shot`: its options, messages and exit codes."""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast, get_args
from zoneinfo import available_timezones

from fanlight import signals
from fanlight.dev.targets import parse_headers, servers
from fanlight.protocol.errors import FanlightError, UsageError
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.testing.browser import BrowserMissingError
from fanlight.testing.live_view import StageError
from fanlight.testing.shot import Picture, Shot, appearances
from fanlight.testing.stage import Mode, Theme

RENDERED, NOT_RENDERED, USAGE, NOT_STARTED = range(4)

_LOCALE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_SIZE = re.compile(r"([1-9][0-9]{0,4})x([1-9][0-9]{0,4})")


def run(options: argparse.Namespace, command: Sequence[str]) -> int:
    """Take the pictures and return the exit code."""
    try:
        shot = _read(options, command)
        png, pictures = signals.run(shot.take)
        return _report(options, png, pictures)
    except BrowserMissingError as error:
        message, code = str(error), NOT_STARTED
    except StageError as error:
        code = {"connect": NOT_STARTED, "tool": USAGE}.get(error.step, NOT_RENDERED)
        message = f"not rendered ({error.step}): {error}" if code == NOT_RENDERED else str(error)
    except FanlightError as error:
        message, code = str(error), USAGE
    _print_error(message)
    if options.json:
        _print_json({"rendered": False, "error": message, "file": None, "pictures": []})
    return code


def _report(options: argparse.Namespace, png: bytes, pictures: Sequence[Picture]) -> int:
    for picture in pictures:
        for note in (*picture.notes, *picture.defects):
            _print_error(f"{picture.appearance}: {note}")
    failed = [picture for picture in pictures if picture.failure is not None]
    # A View may show an error on purpose, but it must appear.
    is_expected = options.allow_error and all(picture.shown for picture in failed)
    is_defective = options.strict and any(picture.defects for picture in pictures)
    has_failed = is_defective or (bool(failed) and not is_expected)
    path = Path(options.output)
    if has_failed:
        path = path.with_suffix(f".failed{path.suffix}")
    try:
        path.write_bytes(png)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from None
    for picture in failed:
        which = f"{picture.appearance}: " if picture.shown or len(pictures) > 1 else ""
        outcome = "rendered with an error, which --allow-error accepts" if is_expected else "not rendered"
        _print_error(f"{outcome} ({picture.step}): {which}{picture.failure}")
    width, height = int.from_bytes(png[16:20]), int.from_bytes(png[20:24])
    if options.json:
        pictured = [_as_json(picture) for picture in pictures]
        size = {"width": width, "height": height}
        _print_json({"rendered": not has_failed, "error": None, "file": str(path), **size, "pictures": pictured})
    else:
        print(f"{path}  {width}x{height}  {len(pictures)} {'picture' if len(pictures) == 1 else 'pictures'}")
    return NOT_RENDERED if has_failed else RENDERED


def _as_json(picture: Picture) -> JSONObject:
    width, height = picture.appearance.size
    return {
        "theme": picture.appearance.theme,
        "window": {"width": width, "height": height},
        "mode": picture.appearance.mode,
        "locale": picture.appearance.locale,
        "failure": picture.failure,
        "step": None if picture.failure is None else picture.step,
        "defects": list(picture.defects),
        "notes": list(picture.notes),
        "text": picture.text,
    }


def _print_json(report: JSONObject) -> None:
    print(json.dumps(report, indent=2, ensure_ascii=False))


def _read(options: argparse.Namespace, command: Sequence[str]) -> Shot:
    expected = 1 if command else 2
    if len(options.names) != expected:
        example = "TOOL -- COMMAND ..." if command else "SERVER TOOL"
        raise UsageError(f"expected {example}, but got {' '.join(options.names)!r}.")
    found = servers(options.names[:-1], command, headers=parse_headers(options.header), only=options.server)
    if len(found) != 1:
        names = ", ".join(found)
        raise UsageError(f"{options.names[0]} names {len(found)} servers: {names}. Choose one with --server NAME.")
    (served,) = found.values()
    _check_number("--scale", options.scale)
    _check_number("--timeout", options.timeout)
    known = available_timezones()  # empty on a system without a time zone database; browsers have their own
    if known and options.time_zone not in known:
        raise UsageError(f"--time-zone is {options.time_zone!r}, expected a name such as Europe/Berlin.")
    themes: list[Theme] = ["light", "dark"] if options.theme == "both" else [options.theme]
    return Shot(
        served.target,
        options.names[-1],
        _arguments(options.args),
        appearances(
            themes,
            [_size(text) for text in _values(options.size, "800x600")],
            [_mode(text) for text in _values(options.mode, "inline")],
            [_locale(text) for text in _values(options.locale, "en-US")],
        ),
        freeze=options.freeze,
        full=options.full,
        scale=options.scale,
        time_zone=options.time_zone,
        timeout=options.timeout,
        view=options.view,
        profile=options.profile,
    )


def _arguments(text: str) -> dict[str, Any]:
    source = "--args"
    if text.startswith("@"):
        source = text[1:]
        try:
            text = Path(source).read_text(encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{source} cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise UsageError(f"{source} is not a text file in UTF-8.") from None
    expected = 'expected an object such as \'{"zone": "UTC"}\''
    try:
        arguments = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{source} is not JSON, {expected}. {error}.") from None
    if not isinstance(arguments, dict):
        raise UsageError(f"{source} is {_shortened(text)}, {expected}.")
    return arguments


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."


def _values(options: Sequence[str] | None, default: str) -> list[str]:
    """Return the values of an option that can be repeated, or hold several values with commas."""
    return [value for text in options or [default] for value in text.split(",") if value]


def _size(text: str) -> tuple[int, int]:
    if (found := _SIZE.fullmatch(text)) is None:
        raise UsageError(f"--size is {text!r}, expected something like 800x600.")
    return int(found[1]), int(found[2])


def _mode(text: str) -> Mode:
    if text not in get_args(Mode):
        raise UsageError(f"--mode is {text!r}, expected one of: {', '.join(get_args(Mode))}.")
    return cast(Mode, text)


def _locale(text: str) -> str:
    if _LOCALE.fullmatch(text) is None:
        raise UsageError(f"--locale is {text!r}, expected a language tag such as de-DE.")
    return text


def _check_number(option: str, value: float) -> None:
    if not value > 0:
        raise UsageError(f"{option} is {value:g}, expected a number greater than 0.")


def _print_error(message: str) -> None:
    print(f"fanlight shot: {message}", file=sys.stderr)
