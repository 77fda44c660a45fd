"""`sdk`: the bytes that the View SDK adds to every View."""

import gzip

from bench import ext_apps
from bench.progress import say
from bench.report import Goal, Options, Report, Table
from fanlight.browser import view_sdk

LIMIT_BYTES = 5000
USES_APP = f'import {{ App }} from "{ext_apps.SPECIFIER}";\nglobalThis.App = App;\n'


def run(options: Options) -> Report:
    say("sdk: bundling ext-apps")
    scripts = {
        "Fanlight, as inlined": view_sdk(),
        "ext-apps 2.0.4, bundled by esbuild without zod's translations": ext_apps.bundled(USES_APP),
        "ext-apps 2.0.4, bundled by esbuild": ext_apps.bundled(USES_APP, lean=False),
        "ext-apps 2.0.4, app-with-deps.js": ext_apps.with_dependencies(),
    }
    table = Table("sdk: bytes inlined into a View", ["View SDK", "bytes", "gzip -9", "gzip / Fanlight's"])
    report = Report([table])
    ours = _compressed(view_sdk())
    for name, script in scripts.items():
        raw, small = len(script.encode()), _compressed(script)
        table.rows.append([name, f"{raw:,}", f"{small:,}", f"{small / ours:.1f}"])
        report.figures[name] = {"bytes": raw, "gzip_bytes": small}
    report.goals.append(Goal("sdk: View SDK, gzip -9", ours, LIMIT_BYTES, unit="bytes"))
    return report


def _compressed(text: str) -> int:
    return len(gzip.compress(text.encode(), 9, mtime=0))
