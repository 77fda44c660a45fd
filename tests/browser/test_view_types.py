"""view.d.ts and view-files.d.ts: that they say what the sources say, and that a View in TypeScript can be checked."""

import importlib.util
import json
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from support.node import node, node_module

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.process

VIEW = """
import { App, applyDocumentTheme } from "fanlight";
import { download, upload } from "fanlight/files";
const app = new App({ name: "Clock", version: "1" }, { availableDisplayModes: ["inline"] });
app.ontoolresult = ({ structuredContent }) => console.log(structuredContent);
await app.connect();
const { content } = await app.callServerTool({ name: "get_time", arguments: { zone: "UTC" } }, { timeout: 1000 });
applyDocumentTheme(app.getHostContext()?.theme ?? content);
await upload(new File([], "a"), { app, tool: "add", onprogress: ({ phase }) => console.log(phase) });
await download({ app, tool: "export" });
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
    found = {path: path.read_text(encoding="utf-8") for path in types.SOURCES}
    assert found == types.declarations(), "Run scripts/view_types.py."


LINES = {
    "": None,
    'app.openLink("https://example.com");': "TS2345",
    "app.callServerTools({});": "TS2551",
    'new App({ name: "Clock" });': "TS2741",
    "upload(new File([], 'a'), { app });": "TS2345",
    'app.addEventListener("toolresults", () => {});': "TS2345",
}
"""Lines at the end of a View, and the error that the compiler reports for each."""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The errors of the compiler for a View with each line, from one run because starting it takes seconds."""
    folder = tmp_path_factory.mktemp("views")
    names = {f"view{number}.ts": line for number, line in enumerate(LINES)}
    for name, line in names.items():
        (folder / name).write_text(VIEW + line, encoding="utf-8")
    for types in ("view.d.ts", "view-files.d.ts"):
        (folder / types).write_bytes((ROOT / "src/fanlight/browser" / types).read_bytes())
    options = {"strict": True, "noEmit": True, "target": "ES2022", "module": "ES2022", "moduleResolution": "bundler"}
    mapped = {"fanlight": ["./view.d.ts"], "fanlight/files": ["./view-files.d.ts"]}
    paths = {"paths": mapped, "types": [], "lib": ["ES2023", "DOM"]}
    config = {"compilerOptions": {**options, **paths}, "files": list(names)}
    (folder / "tsconfig.json").write_text(json.dumps(config), encoding="utf-8")
    compiler = node_module("typescript/bin/tsc")
    done = subprocess.run(
        [node(), str(compiler), "-p", str(folder)], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    found = re.findall(r"^(\S+)\(\d+,\d+\): error (TS\d+):", done.stdout, re.MULTILINE)
    assert len(found) == done.stdout.count("error TS"), done.stdout
    return {line: [error for file, error in found if file == name] for name, line in names.items()}


@pytest.mark.parametrize("line", LINES)
def test_a_view_in_typescript_is_checked(line: str, compiled: dict[str, list[str]]) -> None:
    error = LINES[line]
    assert compiled[line] == ([] if error is None else [error])
