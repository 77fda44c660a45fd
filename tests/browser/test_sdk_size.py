"""view.js as it is inlined into Views: how big, of which shape, and that it still works."""

import gzip
import json
import re
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from fanlight.browser import (
    files_sdk,
    mcpui_adapter,
    react_hooks_exports,
    themed_sdk,
    view_sdk,
    view_sdk_exports,
)
from fanlight.protocol.csp import Csp
from fanlight.server.bundle import bundle_file
from support.node import node

ROOT = Path(__file__).parents[2]
INLINED = ("view.js", "view-openai.js", "view-theme.js", "view-files.js", "mcpui-adapter.js")


def run_node(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [node(), *args], cwd=ROOT, env={"PATH": "", **env}, capture_output=True, text=True, check=False
    )


def code_lines(name: str = "view.js") -> list[str]:
    """Return the lines of a script that are not comments, found without the code under test."""
    lines, inside = [], False
    for line in files("fanlight.browser").joinpath(name).read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if inside or text.startswith("/*"):
            inside = not text.endswith("*/")
        elif text and not text.startswith("//"):
            lines.append(text)
    assert not inside
    return lines


def test_the_inlined_sdk_is_at_most_5000_bytes_compressed() -> None:
    assert len(gzip.compress(view_sdk().encode(), 9)) <= 5_000


def test_what_window_openai_needs_besides_is_at_most_2000_bytes_compressed() -> None:
    assert view_sdk(openai=True).startswith(view_sdk())
    assert len(gzip.compress(view_sdk(openai=True).encode(), 9)) <= len(gzip.compress(view_sdk().encode(), 9)) + 2_000


def test_what_follows_the_look_of_the_host_is_at_most_600_bytes_compressed_besides() -> None:
    both = f"{view_sdk()}\n{themed_sdk()}"
    assert len(gzip.compress(both.encode(), 9)) <= len(gzip.compress(view_sdk().encode(), 9)) + 600


def test_what_moves_files_is_at_most_1800_bytes_compressed() -> None:
    assert len(gzip.compress(files_sdk().encode(), 9)) <= 1_800


@pytest.mark.process
def test_what_the_react_hooks_add_to_a_view_with_react_is_at_most_1000_bytes_compressed(tmp_path: Path) -> None:
    """Measured in the whole document, with all hooks and without any."""
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules", target_is_directory=True)
    react = 'import * as React from "react"; import { createRoot } from "react-dom/client";'

    def size(sdk: str, used: str) -> int:
        script = f'{react} {sdk} createRoot(document.body).render(React.createElement("p", {{ ref: () => [{used}] }}));'
        html = f"<!doctype html>\n<title>x</title><body><script type=module>{script}</script>"
        (tmp_path / "view.html").write_text(html, encoding="utf-8")
        return len(gzip.compress(bundle_file(tmp_path / "view.html", Csp()).html.encode(), 9))

    for package in ("@modelcontextprotocol/ext-apps", "fanlight"):
        hooks = ", ".join(name for name in react_hooks_exports() if name.startswith("use"))
        bare = size(f'import {{ App }} from "{package}";', "App")
        assert size(f'import {{ App, {hooks} }} from "{package}/react";', f"App, {hooks}") <= bare + 1_000


@pytest.mark.parametrize(
    "script",
    [view_sdk(), view_sdk(openai=True), themed_sdk(), files_sdk(), mcpui_adapter({"renderData": "</script><!--"})],
)
def test_the_inlined_sdk_cannot_end_its_script_element(script: str) -> None:
    assert "</script" not in script.lower()
    assert "<!--" not in script


def test_the_inlined_sdk_is_one_statement_without_eval_or_module_syntax() -> None:
    sdk = view_sdk()
    assert sdk.startswith('globalThis[Symbol.for("fanlight")]=(()=>{')
    assert sdk.endswith("})();")
    assert not re.search(r"\beval\b|\bnew Function\b|^\s*(?:import|export)\b", sdk, re.MULTILINE)


def test_the_inlined_sdk_has_no_comment_no_blank_line_and_no_indentation() -> None:
    for line in view_sdk().splitlines():
        assert line == line.strip() != ""
        assert not line.startswith(("//", "/*", "*"))


def test_nothing_but_white_space_comments_and_the_last_semicolon_of_a_block_is_taken_out() -> None:
    def squeezed(text: str) -> str:
        return re.sub(r"\s", "", text).replace(";}", "}")

    code = squeezed("".join(code_lines()))
    code, _, names = code.rpartition("export{")
    returned = "return{" + names.removesuffix("};").rstrip(",") + "}"
    expected = 'globalThis[Symbol.for("fanlight")]=(()=>{' + code + returned + "})();"
    assert squeezed(view_sdk()) == expected


def test_strings_are_inlined_as_they_are_written() -> None:
    strings = r'"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`'
    assert re.findall(strings, view_sdk())[1:] == re.findall(strings, "\n".join(code_lines()))


@pytest.mark.parametrize("name", INLINED)
def test_a_script_keeps_to_the_conventions_that_inlining_relies_on(name: str) -> None:
    for line in code_lines(name):
        assert "/*" not in line, f"a comment shares a line with code: {line}"
        assert "*/" not in line, f"a comment shares a line with code: {line}"
        without_strings = re.sub(r'"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`', "", line)
        assert "//" not in without_strings, f"a comment shares a line with code: {line}"
        assert not set("\"'`") & set(without_strings), f"a string goes over the line's end: {line}"
        assert not re.match(r"import\b", line)
    assert len([line for line in code_lines(name) if line.startswith("export")]) == 1
    assert re.search(r"^export \{[^}]*\};$", "\n".join(code_lines(name)), re.MULTILINE)
    assert code_lines(name)[-1].endswith("};")


def test_the_sdk_exports_what_a_view_imports() -> None:
    assert set(view_sdk_exports()) == {
        "App",
        "PostMessageTransport",
        "applyDocumentTheme",
        "applyHostFonts",
        "applyHostStyleVariables",
        "getDocumentTheme",
        "LATEST_PROTOCOL_VERSION",
        "RESOURCE_MIME_TYPE",
        "RESOURCE_URI_META_KEY",
    }


def test_the_hooks_export_the_sdk_and_what_the_published_package_calls_them() -> None:
    hooks = {
        "useApp",
        "useAutoResize",
        "useDocumentTheme",
        "useHostFonts",
        "useHostStyleVariables",
        "useHostStyles",
    }
    assert set(react_hooks_exports()) == {*view_sdk_exports(), *hooks}


@pytest.mark.process
def test_running_the_inlined_sdk_defines_every_export(tmp_path: Path) -> None:
    script = tmp_path / "sdk.cjs"
    print_types = 'Object.entries(globalThis[Symbol.for("fanlight")]).map(([k, v]) => [k, typeof v])'
    script.write_text(f"{view_sdk()}\nconsole.log(JSON.stringify(Object.fromEntries({print_types})))", encoding="utf-8")
    done = run_node(str(script))
    assert done.returncode == 0, done.stderr
    types = json.loads(done.stdout)
    assert tuple(types) == view_sdk_exports()
    assert set(types.values()) == {"function", "string"}


@pytest.mark.process
def test_the_inlined_sdk_passes_the_tests_of_the_source(tmp_path: Path) -> None:
    script = tmp_path / "sdk.js"
    script.write_text(view_sdk(), encoding="utf-8")
    suite = sorted(str(path) for path in (ROOT / "tests" / "js").glob("*.test.js"))
    done = run_node("--test", "--test-reporter=tap", *suite, FANLIGHT_VIEW_SDK=str(script))
    assert done.returncode == 0, done.stdout
    assert int(re.findall(r"^# pass (\d+)", done.stdout, re.MULTILINE)[0]) > 100
