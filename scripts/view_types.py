"""Write the types of the View SDK, as TypeScript's compiler reads them from comments: view.d.ts and its parts."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
_FOLDER = ROOT / "src" / "fanlight" / "browser"
SOURCES = {_FOLDER / f"{name}.d.ts": _FOLDER / f"{name}.js" for name in ("view", "view-files", "view-react")}

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


def declarations() -> dict[Path, str]:
    """Return the content of each file of types."""
    node = Path(sys.executable).with_name("node")
    with tempfile.TemporaryDirectory() as folder:
        options = [word for name, value in _OPTIONS.items() for word in (f"--{name}", value)]
        command = [str(node), _COMPILER, *options, "--outDir", folder, *map(str, SOURCES.values())]
        subprocess.run(command, cwd=ROOT, check=True, timeout=120)
        return {types: _text(source.name, Path(folder, types.name)) for types, source in SOURCES.items()}


def _text(name: str, made: Path) -> str:
    declared = _HEAD.sub("", _TYPEDEF.sub("", made.read_text(encoding="utf-8")))
    return f"/** The types of {name}, of the View SDK. Made from its comments by scripts/view_types.py. */\n{declared}"


if __name__ == "__main__":
    for path, text in declarations().items():
        path.write_text(text, encoding="utf-8")
