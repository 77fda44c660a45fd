"""What `fanlight check` does with its options."""

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from fanlight.check.report import Report, as_json, as_junit, as_sarif, in_colour, listing, write
from fanlight.check.run import check
from fanlight.check.visit import PATIENCE, ConnectError
from fanlight.check.writable import why_not_writable
from fanlight.host.errors import ConfigError
from fanlight.protocol.errors import FanlightError, UsageError
from fanlight.signals import ended_alike


def run(options: argparse.Namespace, command: Sequence[str]) -> int:
    """Check, write what was asked for, and return the exit code."""
    if options.list:
        print(listing())
        return 0
    progress = _Progress(quiet=options.quiet)
    # What the host would log is in the report.
    logger = logging.getLogger("fanlight")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        for path in (options.junit, options.sarif, options.baseline if options.write_baseline else None):
            if path is not None and (why := why_not_writable(path)) is not None:
                raise UsageError(why)
        known = _baseline(options)
        with ended_alike():
            report = anyio.run(_checked, options, command, known, progress)
    except (UsageError, ConfigError) as error:
        return _fail(error, 2, progress)
    except KeyboardInterrupt:
        return _fail("stopped, and nothing is left running.", 130, progress)
    except ConnectError as error:
        return _fail(error, 3, progress)
    except FanlightError as error:  # no browser, above all
        return _fail(error, 3, progress)
    finally:
        logger.setLevel(level)
        progress.clear()
    return _written(report, options)


async def _checked(
    options: argparse.Namespace, command: Sequence[str], known: Sequence[str], progress: "_Progress"
) -> Report:
    return await check(
        options.target,
        command=command,
        browser=not options.no_browser,
        only=options.only,
        skip=_skips(options),
        baseline=known,
        call=not options.no_call,
        arguments=_arguments(options.args),
        patience=options.timeout or PATIENCE,
        tell=progress.tell,
    )


def _fail(error: Exception | str, code: int, progress: "_Progress") -> int:
    progress.clear()
    print(f"fanlight check: {error}", file=sys.stderr)
    return code


def _skips(options: argparse.Namespace) -> dict[str, str]:
    if len(options.skip) != len(options.because):
        raise UsageError('--skip needs a reason: --skip RES-08 --because "we like the default".')
    return dict(zip(options.skip, options.because, strict=True))


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
        raise UsageError(f"{options.baseline} is no baseline. Write it with --write-baseline.") from None
    return [str(key) for key in known]


def _written(report: Report, options: argparse.Namespace) -> int:
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
    """Says on stderr what is going on: one line that changes on a terminal, lines elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._live = in_colour(sys.stderr)

    def tell(self, words: str) -> None:
        if self._quiet:
            return
        if self._live and " calls " not in words and "does not call" not in words:
            print(f"\r\x1b[2K  {words[:100]}", end="", file=sys.stderr, flush=True)
        else:
            self.clear()
            print(f"  {words}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._live and not self._quiet:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
