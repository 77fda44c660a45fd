"""The command line of `fanlight check`: its options, messages and exit codes."""

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fanlight import signals
from fanlight.check.client import TIMEOUT, ConnectError
from fanlight.check.progress import Progress
from fanlight.check.report import Report, as_json, as_junit, as_sarif, listing, uses_colour, write
from fanlight.check.run import check
from fanlight.check.writable import why_not_writable
from fanlight.dev.targets import parse_headers
from fanlight.host.errors import ConfigError
from fanlight.protocol.errors import FanlightError, UsageError


def run(options: argparse.Namespace, command: Sequence[str]) -> int:
    """Check, write the reports, and return the exit code."""
    if options.list:
        print(listing())
        return 0
    progress = _Progress(quiet=options.quiet)
    # The report has what the host would log.
    logger = logging.getLogger("fanlight")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        for path in (options.junit, options.sarif, options.baseline if options.write_baseline else None):
            if path is not None and (why := why_not_writable(path)) is not None:
                raise UsageError(why)
        known = _baseline(options)
        report = signals.run(_check, options, command, known, progress)
    except (UsageError, ConfigError) as error:
        return _fail(error, 2, progress)
    except KeyboardInterrupt:
        return _fail("stopped.", 130, progress)
    except ConnectError as error:
        return _fail(error, 3, progress)
    except FanlightError as error:  # such as a missing browser
        return _fail(error, 3, progress)
    finally:
        logger.setLevel(level)
        progress.clear()
    return _write_reports(report, options)


async def _check(
    options: argparse.Namespace, command: Sequence[str], known: Sequence[str], progress: "_Progress"
) -> Report:
    return await check(
        options.target,
        command=command,
        headers=parse_headers(options.header),
        server=options.server,
        browser=not options.no_browser,
        only=options.only,
        skip=_skips(options),
        baseline=known,
        guesses=options.guesses,
        libraries=options.libraries,
        call=not options.no_call,
        arguments=_arguments(options.args),
        timeout=options.timeout or TIMEOUT,
        on_progress=progress.show,
    )


def _fail(error: Exception | str, code: int, progress: "_Progress") -> int:
    progress.clear()
    print(f"fanlight check: {error}", file=sys.stderr)
    return code


def _skips(options: argparse.Namespace) -> dict[str, str]:
    skips = {}
    for text in options.skip:
        rule, _, reason = text.partition("=")
        if not reason.strip():
            raise UsageError(f"--skip {text} has no reason. Write --skip {rule}='we like the default'.")
        skips[rule] = reason
    return skips


def _arguments(given: Sequence[str]) -> dict[str, dict[str, Any]]:
    arguments = {}
    for text in given:
        tool, equals, value = text.partition("=")
        try:
            parsed = json.loads(value) if equals else None
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            raise UsageError(f'--args {text} is not TOOL=JSON. Write --args \'get_time={{"zone": "UTC"}}\'.')
        arguments[tool] = parsed
    return arguments


def _baseline(options: argparse.Namespace) -> list[str]:
    if options.write_baseline and not options.baseline:
        raise UsageError("--write-baseline needs a file: --baseline FILE --write-baseline.")
    if not options.baseline or options.write_baseline:
        return []
    try:
        known = json.loads(Path(options.baseline).read_text(encoding="utf-8"))["findings"]
    except OSError as error:
        raise UsageError(
            f"{options.baseline} cannot be read: {error.strerror}. Write it with --write-baseline."
        ) from None
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{options.baseline} is not a baseline. Write one with --write-baseline.") from None
    return [str(key) for key in known]


def _write_reports(report: Report, options: argparse.Namespace) -> int:
    files: dict[str, str] = {}
    if options.junit:
        files[options.junit] = as_junit(report, strict=options.strict)
    if options.sarif:
        files[options.sarif] = as_sarif(report, options.target)
    keys = sorted({finding.key for finding in report.open})
    if options.write_baseline:
        files[options.baseline] = json.dumps({"findings": keys}, indent=2, ensure_ascii=False)
    failures = []
    for path, text in files.items():
        try:
            Path(path).write_text(f"{text}\n", encoding="utf-8")
        except OSError as error:
            failures.append(f"{path} cannot be written: {error.strerror}.")
    if options.json:
        print(as_json(report))
    else:
        write(report, sys.stdout)
    if failures:
        print(f"fanlight check: {' '.join(failures)}", file=sys.stderr)
        return 2
    if options.write_baseline:
        print(f"{len(keys)} finding{' is' if len(keys) == 1 else 's are'} now in {options.baseline}.", file=sys.stderr)
        return 0
    if options.strict and any(finding.level != "note" for finding in report.open):
        return 1
    return 0 if report.conforms else 1


class _Progress:
    """Prints progress on stderr: one line that changes on a terminal, and many lines elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._is_live = uses_colour(sys.stderr)

    def show(self, progress: Progress) -> None:
        if self._quiet:
            return
        if self._is_live and not progress.is_lasting:
            print(f"\r\x1b[2K  {progress.text[:100]}", end="", file=sys.stderr, flush=True)
        else:
            self.clear()
            print(f"  {progress.text}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._is_live and not self._quiet:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
