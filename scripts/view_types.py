"""Write view.d.ts, the types of view.js, as TypeScript's compiler reads them from its comments."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "fanlight" / "browser" / "view.js"
TYPES = SOURCE.with_suffix(".d.ts")

_COMPILER = "node_modules/typescript/bin/tsc"
_OPTIONS = {
    "ignoreConfig": "true",
    "allowJs": "true",
    "checkJs": "true",
    "declaration": "true",
    "emitDeclarationOnly": "true",
    "strict": "true",
    "useUnknownInCatchVariables": "false",
    "target": "ES2022",
    "lib": "ES2023,DOM",
    "module": "NodeNext",
    "types": "node",
}
# Besides the types that they declare, the compiler leaves the comments that declared them.
_TYPEDEF = re.compile(r"^/\*\*(?:(?!\*/)[\s\S])*?@typedef(?:(?!\*/)[\s\S])*?\*/\n", re.MULTILINE)
_HEAD = re.compile(r"\A/\*\*[\s\S]*?\*/\n")


def declarations() -> str:
    """Return the content of view.d.ts."""
    node = Path(sys.executable).with_name("node")
    with tempfile.TemporaryDirectory() as folder:
        options = [word for name, value in _OPTIONS.items() for word in (f"--{name}", value)]
        command = [str(node), _COMPILER, *options, "--outDir", folder, str(SOURCE)]
        subprocess.run(command, cwd=ROOT, check=True, timeout=120)
        text = Path(folder, TYPES.name).read_text(encoding="utf-8")
    return "/** The types of view.js, the View SDK. Made from its comments by scripts/view_types.py. */\n" + _HEAD.sub(
        "", _TYPEDEF.sub("", text)
    )


if __name__ == "__main__":
    TYPES.write_text(declarations(), encoding="utf-8")
