"""Source maps from the lines of a bundled document to the author's files."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from fanlight.protocol.csp import Csp
from fanlight.protocol.source_lines import VARIABLE, Run, find
from fanlight.server.bundle import bundle_file, bundle_text

DOCUMENT = """<!doctype html>
<link rel="stylesheet" href="look.css">
<script defer src="late.js"></script>
<script type="module" src="js/first.js"></script><script>inDocument();</script>
<script type="module">
  import { App } from "@modelcontextprotocol/ext-apps";
  inModule();
</script>
<body>
  <script src="js/plain.js"></script>
  <script>
    last();
  </script>
</body>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "node_modules").symlink_to(Path(__file__).parents[3] / "node_modules", target_is_directory=True)
    (tmp_path / "js").mkdir()
    (tmp_path / "view.html").write_text(DOCUMENT, encoding="utf-8")
    (tmp_path / "look.css").write_text("p {\n  color: red;\n}\n\n", encoding="utf-8")
    (tmp_path / "late.js").write_text("// late\nlate();\n", encoding="utf-8")
    (tmp_path / "js" / "first.js").write_text(
        'import { App } from "@modelcontextprotocol/ext-apps";\n\nfirst();', encoding="utf-8"
    )
    (tmp_path / "js" / "plain.js").write_text('\nplain("</script>");\n', encoding="utf-8")
    return tmp_path


def kept(folder: Path, html: str) -> list[Run]:
    written = json.loads((folder / f"{sha256(html.encode()).hexdigest()}.json").read_bytes())
    return [Run(*run) for run in written["runs"]]


def place(runs: list[Run], html: str, text: str) -> tuple[str, int] | None:
    """Return the file and line of the first occurrence of a text in a document."""
    at = html.index(text)
    return find(runs, html.count("\n", 0, at) + 1, at - html.rfind("\n", 0, at))


def test_every_script_is_mapped_to_the_line_in_its_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = folder / "lines"
    lines.mkdir()
    monkeypatch.setenv(VARIABLE, str(lines))
    html = bundle_file(folder / "view.html", Csp()).html
    runs = kept(lines, html)
    assert place(runs, html, "late();") == ("late.js", 2)
    assert place(runs, html, "first();") == ("js/first.js", 3)
    assert place(runs, html, "inDocument();") == ("view.html", 4)
    assert place(runs, html, "inModule();") == ("view.html", 7)
    assert place(runs, html, 'plain("') == ("js/plain.js", 2)
    assert place(runs, html, "last();") == ("view.html", 12)
    assert place(runs, html, "color: red") is None
    assert place(runs, html, 'globalThis[Symbol.for("fanlight")]=') is None  # the View SDK


@pytest.mark.process
def test_bundled_modules_are_mapped_to_their_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "js" / "typed.ts").write_text(
        "interface Row {\n  label: string;\n}\n\nexport const draw = (row: Row): void => {\n  missing(row);\n};\n",
        encoding="utf-8",
    )
    script = '\nimport { draw } from "./js/typed.ts";\n\ndraw({label: "x"});\n'
    document = f'<!doctype html>\n<p>\n<script type="module">{script}</script>\n<script>after()</script>'
    (folder / "view.html").write_text(document, encoding="utf-8")
    without = bundle_file(folder / "view.html", Csp()).html
    monkeypatch.setenv(VARIABLE, str(folder))
    html = bundle_file(folder / "view.html", Csp()).html
    assert html == without
    runs = kept(folder, html)
    assert place(runs, html, "missing(row)") == ("js/typed.ts", 6)
    assert place(runs, html, 'draw({ label: "x" })') == ("view.html", 6)
    assert place(runs, html, "after()") == ("view.html", 8)


def test_the_document_is_the_same_and_no_map_is_written_outside_development(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(folder.iterdir())
    plain = bundle_file(folder / "view.html", Csp())
    assert sorted(folder.iterdir()) == before
    monkeypatch.setenv(VARIABLE, str(folder))
    assert bundle_file(folder / "view.html", Csp()) == plain
    assert len(sorted(folder.iterdir())) == len(before) + 1


def test_a_document_that_is_a_string_is_mapped_to_its_own_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    script = "import { App } from '@modelcontextprotocol/ext-apps';\noops();\n"
    html = bundle_text(f"<!doctype html>\n<script type=module>\n{script}</script>", Csp()).html
    assert place(kept(tmp_path, html), html, "oops();") == ("View.html(...)", 4)


def test_a_missing_folder_for_source_maps_is_ignored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(folder / "gone"))
    assert bundle_file(folder / "view.html", Csp()).html


def test_a_position_before_all_runs_is_not_mapped() -> None:
    assert find([Run(2, 1, "a", 1)], 1, 5) is None
    assert find([], 1, 1) is None
