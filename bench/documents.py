"""The documents that the browser is shown: files of `pages`, and Views with one SDK or the other in them."""

import re
from pathlib import Path

from bench import ext_apps
from fanlight.protocol.csp import Csp
from fanlight.server.bundle import bundle_text

FOLDER = Path(__file__).resolve().parent / "pages"
_SCRIPT = re.compile(r'(<script type="module">)(.*)(</script>)', re.DOTALL)


def text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def page(name: str) -> str:
    """Return a page with the script that reports when it was painted."""
    return text(name).replace("/* paint.js */", text("paint.js"))


def with_fanlight(name: str) -> str:
    """Return a View with our SDK in it, bundled by Fanlight."""
    return bundle_text(page(name), Csp()).html


def with_ext_apps(name: str, package: str = ext_apps.CURRENT) -> str:
    """Return a View with ext-apps in it, bundled by esbuild."""
    return _SCRIPT.sub(lambda found: found[1] + ext_apps.bundled(found[2], package) + found[3], page(name))
