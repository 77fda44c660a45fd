"""Views whose document is written by the build of a Node project."""

import json
from pathlib import Path

import pytest

from fanlight import View
from fanlight.dev.source_lines import BuiltDocument, Lines
from fanlight.protocol.errors import BundleError

pytestmark = pytest.mark.anyio

PAGE = "<!doctype html><html><title>Clock</title>{}</html>\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    content = {"scripts": {"build": "vite build"}}
    (tmp_path / "package.json").write_text(json.dumps(content), encoding="utf-8")
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("source", ["dist/index.html", "dist"])
async def test_a_document_that_is_not_built_yet_is_an_error_of_the_read_that_says_what_to_run(
    project: Path, source: str
) -> None:
    view = View(project / source, uri="ui://clock/view")
    with pytest.raises(BundleError) as caught:
        await view.read()
    assert str(caught.value) == (
        f"{project / 'dist' / 'index.html'}: is not built yet. Run `npm install && npm run build` in {project}."
    )
    write(project / "dist" / "index.html", PAGE.format("first"))
    assert await view.read() == PAGE.format("first")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("dits/index.html", "does not exist"),
        ("clock.html", "does not exist"),
        ("dist/clok.html", "contains clock.html"),
        ("dist/app.js", "is not an .html file"),
        ("dist/missing.js", "is not an .html file"),
    ],
)
async def test_a_misspelt_path_is_still_an_error_at_registration(project: Path, source: str, message: str) -> None:
    write(project / "dist" / "clock.html", PAGE)
    write(project / "dist" / "app.js", "")
    with pytest.raises(BundleError, match=message):
        View(project / source, uri="ui://clock/view")


async def test_without_a_build_script_a_missing_document_is_an_error_at_registration(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="does not exist"):
        View(tmp_path / "dist" / "index.html", uri="ui://clock/view")


async def test_the_last_document_is_served_while_a_build_replaces_it(project: Path) -> None:
    document = project / "dist" / "index.html"
    write(document, PAGE.format("first"))
    view = View(document, uri="ui://clock/view")
    assert view.title == "Clock"
    document.unlink()
    assert await view.read() == PAGE.format("first")
    for half in ("", "<!doctype html><html><title>Cl", "<!doctype html><html><script>let a"):
        document.write_text(half, encoding="utf-8")
        assert await view.read() == PAGE.format("first")
    document.write_text(PAGE.format("second"), encoding="utf-8")
    assert await view.read() == PAGE.format("second")


async def test_a_document_without_an_end_tag_is_complete(project: Path) -> None:
    document = project / "dist" / "index.html"
    write(document, "<!doctype html>first")
    view = View(document, uri="ui://clock/view")
    document.write_text("<!doctype html>second", encoding="utf-8")
    assert await view.read() == "<!doctype html>second"


async def test_a_mistake_in_a_built_document_is_an_error(project: Path) -> None:
    document = project / "dist" / "index.html"
    write(document, PAGE.format("first"))
    view = View(document, uri="ui://clock/view")
    document.write_text(PAGE.format("<object data=x>"), encoding="utf-8")
    with pytest.raises(BundleError, match="blocked by every host"):
        await view.read()


async def test_development_tools_learn_which_project_builds_a_document(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = Lines()
    for name, value in lines.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(project)
    document = project / "dist" / "index.html"
    View(document, uri="ui://clock/view")
    write(project / "plain.html", PAGE)
    View(project / "plain.html", uri="ui://clock/plain")
    assert list(lines.built_documents()) == [BuiltDocument(document, project, project)]
    lines.close()
