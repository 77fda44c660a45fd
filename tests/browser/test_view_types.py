"""view.d.ts: that it says what view.js says, and that a View in TypeScript can be checked with it."""

import importlib.util
import json
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from support.node import node, node_module

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.process

VIEW = """
import { App, applyDocumentTheme } from "fanlight";
const app = new App({ name: "Clock", version: "1" }, { availableDisplayModes: ["inline"] });
app.ontoolresult = ({ structuredContent }) => console.log(structuredContent);
await app.connect();
const { content } = await app.callServerTool({ name: "get_time", arguments: { zone: "UTC" } }, { timeout: 1000 });
applyDocumentTheme(app.getHostContext()?.theme ?? content);
"""


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("view_types", ROOT / "scripts" / "view_types.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_types_are_those_of_the_source() -> None:
    types = script()
    assert types.TYPES.read_text(encoding="utf-8") == types.declarations(), "Run scripts/view_types.py."


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("", None),
        ('app.openLink("https://example.com");', "TS2345"),
        ("app.callServerTools({});", "TS2551"),
        ('new App({ name: "Clock" });', "TS2741"),
        ('app.addEventListener("toolresults", () => {});', "TS2345"),
    ],
)
def test_a_view_in_typescript_is_checked(line: str, error: str | None, tmp_path: Path) -> None:
    (tmp_path / "view.ts").write_text(VIEW + line, encoding="utf-8")
    (tmp_path / "fanlight.d.ts").write_bytes((ROOT / "src/fanlight/browser/view.d.ts").read_bytes())
    options = {"strict": True, "noEmit": True, "target": "ES2022", "module": "ES2022", "moduleResolution": "bundler"}
    paths = {"paths": {"fanlight": ["./fanlight.d.ts"]}, "types": [], "lib": ["ES2023", "DOM"]}
    config = {"compilerOptions": {**options, **paths}, "files": ["view.ts"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(config), encoding="utf-8")
    compiler = node_module("typescript/bin/tsc")
    done = subprocess.run(
        [node(), str(compiler), "-p", str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode == 0) is (error is None), done.stdout
    assert error is None or error in done.stdout
