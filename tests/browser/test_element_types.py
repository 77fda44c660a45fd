"""The types of `<mcp-app>`: that they say what the element does, and that TypeScript checks a page with them."""

import json
import re
import subprocess
from importlib.resources import files

import pytest

from fanlight.cli import main
from support.docs import ROOT
from support.node import node, node_module

TYPES = files("fanlight.browser").joinpath("types")
ELEMENT = files("fanlight.browser").joinpath("mcp-app.js").read_text("utf-8")
DECLARED = TYPES.joinpath("mcp-app.d.ts").read_text("utf-8")
REFERENCE = (ROOT / "docs" / "reference" / "mcp-app.md").read_text("utf-8")

PAGE = """
import type {} from "./mcp-app";
const app = document.createElement("mcp-app");
app.setAttribute("view", "v1");
app.addEventListener("mcp-question", ({ detail }) => detail.answer(detail.requests[0]?.warning ? "deny" : "once"));
document.addEventListener("mcp-size", ({ detail }) => detail.height.toFixed());
document.querySelector("mcp-app")?.reopen();
await document.createElement("mcp-grants").refresh();
await app.close();
"""

REACT = """
import { useRef } from "react";
import type { McpApp } from "./mcp-app";
import { McpApp as Component } from "./mcp-app-react";

export const Card = ({ view, token }: { view: string; token: string }) => {
  const app = useRef<McpApp>(null);
  return (
    <>
      <button onClick={() => app.current?.close()}>Close</button>
      <mcp-grants src="/apps" />
      <mcp-app ref={app} key={view} view={view} token={token} src="/apps" theme="dark" max-height={300}
        onmcp-error={({ detail }) => console.warn(detail.reason.length)} className="card" LINE />
      <Component ref={app} key={view} view={view} token={token} theme="dark" maxHeight={300} className="card"
        onError={({ detail }) => console.warn(detail.reason.length)} onDisplayMode={({ detail }) => detail.mode}
        onClick={(event) => event.currentTarget.reopen()} PROPERTY />
    </>
  );
};
"""

PAGE_LINES = {
    "": None,
    "app.displayMode = 'pip';": "TS2540",
    "app.colse();": "TS2551",
    'app.addEventListener("mcp-size", ({ detail }) => detail.width);': "TS2339",
}
REACT_LINES = {
    "": None,
    'consent="modal"': "TS2322",
    'viwe="x"': "TS2322",
    "onmcp-size={({ detail }) => detail.width}": "TS2339",
}
COMPONENT_PROPERTIES = {
    'consent="modal"': "TS2322",
    "onErorr={() => {}}": "TS2322",
    "onSize={({ detail }) => detail.width}": "TS2339",
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The errors of the compiler for a page with each line, from one run because starting it takes seconds."""
    folder = tmp_path_factory.mktemp("pages")
    assert main(["types", "--host", str(folder)]) == 0
    sources = {f"page{number}.ts": (line, PAGE + line) for number, line in enumerate(PAGE_LINES)}
    page = REACT.replace("PROPERTY", "")
    sources |= {f"react{n}.tsx": (f"react {line}", page.replace("LINE", line)) for n, line in enumerate(REACT_LINES)}
    page = REACT.replace("LINE", "")
    sources |= {
        f"component{number}.tsx": (f"component {line}", page.replace("PROPERTY", line))
        for number, line in enumerate(COMPONENT_PROPERTIES)
    }
    for name, (_, source) in sources.items():
        (folder / name).write_text(source, encoding="utf-8")
    react = node_module("@types/react")
    options = {
        "strict": True,
        "noEmit": True,
        "target": "ES2022",
        "module": "ES2022",
        "moduleResolution": "bundler",
        "jsx": "react-jsx",
        "lib": ["ES2023", "DOM"],
        "types": [],
        "paths": {"react": [str(react)], "react/jsx-runtime": [str(react / "jsx-runtime.d.ts")]},
    }
    config = {"compilerOptions": options, "files": [*sources, "mcp-app.d.ts", "mcp-app-react.d.ts"]}
    (folder / "tsconfig.json").write_text(json.dumps(config), encoding="utf-8")
    compiler = str(node_module("typescript/bin/tsc"))
    done = subprocess.run(
        [node(), compiler, "-p", str(folder)], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    found = re.findall(r"^(\S+)\(\d+,\d+\): error (TS\d+):", done.stdout, re.MULTILINE)
    assert len(found) == done.stdout.count("error TS"), done.stdout
    assert {file for file, _ in found} <= sources.keys(), done.stdout
    return {line: [error for file, error in found if file == name] for name, (line, _) in sources.items()}


@pytest.mark.process
@pytest.mark.parametrize("line", PAGE_LINES)
def test_a_page_in_typescript_is_checked(line: str, compiled: dict[str, list[str]]) -> None:
    error = PAGE_LINES[line]
    assert compiled[line] == ([] if error is None else [error])


@pytest.mark.process
@pytest.mark.parametrize("line", REACT_LINES)
def test_a_page_with_react_is_checked(line: str, compiled: dict[str, list[str]]) -> None:
    error = REACT_LINES[line]
    assert compiled[f"react {line}"] == ([] if error is None else [error])


@pytest.mark.process
@pytest.mark.parametrize("line", COMPONENT_PROPERTIES)
def test_a_page_with_the_component_is_checked(line: str, compiled: dict[str, list[str]]) -> None:
    assert compiled[f"component {line}"] == [COMPONENT_PROPERTIES[line]]


def declared(interface: str) -> set[str]:
    """Return the names of the members of an interface."""
    body = DECLARED.partition(f"interface {interface} ")[2].partition("\n}")[0]
    return set(re.findall(r'^  (?:readonly )?"?([\w-]+)"?[?]?[:(]', body, re.MULTILINE))


def documented(title: str, pattern: str) -> set[str]:
    section = REFERENCE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return set(re.findall(pattern, section, re.MULTILINE))


def test_the_types_have_every_event_that_the_element_fires() -> None:
    fired = set(re.findall(r'#fire\("([\w-]+)"', ELEMENT))
    assert declared("McpAppEventMap") == fired == documented("Events", r"^\| `([\w-]+)` \|")


def test_the_component_has_a_property_for_every_event() -> None:
    component = TYPES.joinpath("mcp-app-react.js").read_text("utf-8")
    events = dict(re.findall(r'^  (on\w+): "([\w-]+)",$', component, re.MULTILINE))
    assert set(events.values()) == declared("McpAppEventMap")
    assert {f"on{type.removeprefix('mcp-').title().replace('-', '')}": type for type in events.values()} == events


def test_the_types_have_every_attribute_and_method_of_the_reference() -> None:
    assert declared("McpAppAttributes") == documented("Attributes", r"^\| `([\w-]+)` \|")
    properties = {"view", "src", "token", "displayMode"}
    assert declared("McpApp") == {*properties, *documented("Attributes", r"element[.](\w+)\(")}
    read = set(re.findall(r'[gs]etAttribute\("([\w-]+)"\)', ELEMENT))
    assert read & declared("McpAppAttributes") == declared("McpAppAttributes")
