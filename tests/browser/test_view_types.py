"""The types of the View SDK: that they say what the sources say, and that a View in TypeScript can be checked."""

import importlib.util
import json
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from fanlight.cli import main
from fanlight.protocol.csp import Csp
from fanlight.server.bundle import bundle_file
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

REACT = """
import { type App, useApp, useAutoResize, useDocumentTheme, useHostStyles } from "fanlight/react";
import { applyHostFonts } from "fanlight";
import { useState } from "react";

const Inner = ({ app }: { app: App }) => <button onClick={() => app.openLink({ url: "https://example.com" })} />;

export const View = () => {
  const [text, setText] = useState("");
  const { app, isConnected, error } = useApp({
    appInfo: { name: "Clock", version: "1" },
    capabilities: { availableDisplayModes: ["inline"] },
    onAppCreated: (created) => {
      created.ontoolresult = ({ content }) => setText(content[0].text);
    },
  });
  useHostStyles(app, app?.getHostContext());
  useAutoResize(app);
  applyHostFonts(useDocumentTheme() === "dark" ? "" : text);
  LINE
  if (error) return <p>{error.message}</p>;
  return app && isConnected ? <Inner app={app} /> : null;
};
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

REACT_LINES = {
    "/* React */": None,
    "app.openLink({ url: text });": "TS18047",
    "useApp({ capabilities: {} });": "TS2741",
    "useDocumentTheme() === 'blue';": "TS2367",
    "useHostStyles();": "TS2554",
}
"""The same inside a component."""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The errors of the compiler for a View with each line, from one run because starting it takes seconds."""
    folder = tmp_path_factory.mktemp("views")
    names = {f"view{number}.ts": line for number, line in enumerate(LINES)}
    for name, line in names.items():
        (folder / name).write_text(VIEW + line, encoding="utf-8")
    components = {f"react{number}.tsx": line for number, line in enumerate(REACT_LINES)}
    for name, line in components.items():
        (folder / name).write_text(REACT.replace("LINE", line), encoding="utf-8")
    names |= components
    (folder / "node_modules").symlink_to(ROOT / "node_modules", target_is_directory=True)
    assert main(["types", str(folder / "fanlight-types")]) == 0
    options = {"strict": True, "noEmit": True, "target": "ES2022", "module": "ES2022", "moduleResolution": "bundler"}
    more = {"jsx": "react-jsx", "types": [], "lib": ["ES2023", "DOM"]}
    config = {
        "extends": "./fanlight-types/tsconfig.json",
        "compilerOptions": {**options, **more},
        "files": list(names),
    }
    (folder / "tsconfig.json").write_text(json.dumps(config), encoding="utf-8")
    compiler = node_module("typescript/bin/tsc")
    done = subprocess.run(
        [node(), str(compiler), "-p", str(folder)], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    found = re.findall(r"^(\S+)\(\d+,\d+\): error (TS\d+):", done.stdout, re.MULTILINE)
    assert len(found) == done.stdout.count("error TS"), done.stdout
    return {line: [error for file, error in found if file == name] for name, line in names.items()}


@pytest.mark.parametrize("line", [*LINES, *REACT_LINES])
def test_a_view_in_typescript_is_checked(line: str, compiled: dict[str, list[str]]) -> None:
    error = (LINES | REACT_LINES)[line]
    assert compiled[line] == ([] if error is None else [error])


def test_a_view_with_types_is_bundled_with_the_sdk(tmp_path: Path) -> None:
    """Goes red if the types, to which tsconfig.json resolves the modules of the SDK, are bundled in their place."""
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules", target_is_directory=True)
    assert main(["types", str(tmp_path / "fanlight-types")]) == 0
    config = {"extends": "./fanlight-types/tsconfig.json", "compilerOptions": {"jsx": "react-jsx"}}
    (tmp_path / "tsconfig.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "view.tsx").write_text(REACT.replace("LINE", "") + "console.log(View);", encoding="utf-8")
    (tmp_path / "view.html").write_text('<!doctype html>\n<script type="module" src="view.tsx"></script>')

    html = bundle_file(tmp_path / "view.html", Csp()).html

    assert "var useApp = (" in html
    assert html.count('const LATEST_PROTOCOL_VERSION="') == 1


def test_types_that_cannot_be_written_exit_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["types", str(tmp_path / "file")]) == 2
    assert f"cannot write to {tmp_path / 'file'}: File exists" in capsys.readouterr().err
