"""The documentation site: it builds strictly, has every page, and loads nothing from another host."""

from pathlib import Path

import pytest

from support.docs import ROOT
from support.scripts import script
from support.site import small

docs = script("docs")

PAGES = sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))


def built(page: str) -> str:
    """Return where the site has a page."""
    return "index.html" if page == "README.md" else page.removesuffix(".md") + ".html"


@pytest.mark.parametrize("page", PAGES)
def test_the_site_has_every_page_and_the_navigation_leads_to_it(site: Path, page: str) -> None:
    assert (site / built(page)).is_file()
    home = docs.Page((site / "index.html").read_text(encoding="utf-8"))
    links = {link.removeprefix("./") for link in home.links}
    assert built(page) in links or page == "README.md"


def test_every_link_and_anchor_of_the_site_leads_somewhere(site: Path) -> None:
    assert docs.link_problems(site) == []


def test_the_site_loads_nothing_from_another_host(site: Path) -> None:
    assert docs.offline_problems(site) == []


def test_the_search_index_has_every_page(site: Path) -> None:
    index = (site / "search.js").read_text(encoding="utf-8")
    assert [page for page in PAGES if f'"location":"{built(page)}"' not in index] == []


def test_code_blocks_that_are_files_have_their_names_as_titles(site: Path) -> None:
    page = (site / "tutorial" / "your-first-app.html").read_text(encoding="utf-8")
    assert '<span class="filename">dice.html</span>' in page
    assert "```" not in page


@pytest.mark.parametrize("page", PAGES)
def test_llms_txt_leads_to_the_markdown_of_every_page(site: Path, page: str) -> None:
    index = (site / "llms.txt").read_text(encoding="utf-8")
    assert index.startswith("# Fanlight\n\n> MCP Apps")
    assert index.count(f"]({page})") == 1
    assert (site / page).read_bytes() == (ROOT / "docs" / page).read_bytes()


BROKEN = "# A\n\n[b](b.md) [c](#c) [d](d.md#e)\n"
PICTURES = "# A\n\n![b](https://example.com/b.png) ![c](c.png)\n"
NO_NAME = "# A\n\n<!-- api: fanlight.Nothing -->\n<!-- /api -->\n"
OPEN = "# A\n\n<!-- api: fanlight.View -->\n"


@pytest.mark.parametrize(
    ("pages", "nav", "problems"),
    [
        pytest.param(
            {"README.md": BROKEN, "d.md": "# D\n"},
            None,
            {"page does not exist": 2, "anchor does not exist": 4},  # each is a headline and a note at its place
            id="links to a missing page and to missing anchors",
        ),
        pytest.param(
            {"README.md": PICTURES},
            None,
            {"index.html: https://example.com/b.png is loaded": 1, "c.png leads to no file": 1},
            id="pictures that are missing or of another host",
        ),
        pytest.param({"README.md": NO_NAME}, None, {"fanlight.Nothing could not be found": 1}, id="an unknown name"),
        pytest.param({"README.md": OPEN}, None, {"has no <!-- /api -->": 1}, id="an open block"),
        pytest.param({"README.md": "# A\n"}, [], {"README.md is not in the nav": 1}, id="a page without a place"),
        pytest.param({"README.md": "# A\n"}, ["README.md", "b.md"], {"there is no such page": 1}, id="no page"),
    ],
)
@pytest.mark.process
def test_the_build_fails_for(
    tmp_path: Path, pages: dict[str, str], nav: list[str] | None, problems: dict[str, int]
) -> None:
    with pytest.raises(docs.DocsError) as failed:
        docs.build(small(tmp_path, pages, nav))
    assert {problem: str(failed.value).count(problem) for problem in problems} == problems, failed.value


def test_a_page_in_the_navigation_twice_is_a_problem(tmp_path: Path) -> None:
    root = small(tmp_path, {"README.md": "# A\n"}, ["README.md", "README.md"])
    (problem,) = docs.navigation_problems({"docs_dir": "docs", "nav": ["README.md", "README.md"]}, root)
    assert problem.endswith("twice.")


LOADS = {
    "script": '<script src="https://cdn.example/a.js"></script>',
    "stylesheet": '<link rel="stylesheet" href="https://cdn.example/a.css">',
    "preload": '<link rel="preload" as="font" href="//cdn.example/a.woff2">',
    "preconnect": '<link rel="preconnect" href="https://fonts.gstatic.com" crossorigin>',
    "icon": '<link rel="icon" href="https://cdn.example/a.svg">',
    "img": '<img src="https://cdn.example/a.png">',
    "srcset": '<img src="a.png" srcset="a.png 1x, https://cdn.example/a2.png 2x">',
    "source": '<picture><source srcset="HTTPS://cdn.example/a.png"><img src="a.png"></picture>',
    "iframe": '<iframe src="https://cdn.example/"></iframe>',
    "style element": "<style>@import 'https://cdn.example/a.css';</style>",
    "style attribute": "<p style=\"background: url('https://cdn.example/a.png')\">a</p>",
    "svg": '<svg><use href="https://cdn.example/a.svg#b"/></svg>',
}


@pytest.mark.parametrize("kind", LOADS)
def test_the_scan_finds_what_a_page_loads_from_another_host(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a.html").write_text(f"<!doctype html>{LOADS[kind]}", encoding="utf-8")
    (problem,) = docs.offline_problems(tmp_path)
    assert problem.endswith("is loaded from another host.")


@pytest.mark.parametrize(
    "rule", ['@import "https://cdn.example/a.css";', "@font-face { src: url(//cdn.example/a.woff2) }"]
)
def test_the_scan_finds_what_a_stylesheet_loads_from_another_host(tmp_path: Path, rule: str) -> None:
    (tmp_path / "a.css").write_text(rule, encoding="utf-8")
    assert len(docs.offline_problems(tmp_path)) == 1


def test_the_scan_takes_links_that_wait_for_a_click_for_no_load(tmp_path: Path) -> None:
    text = '<a href="https://example.com/">a</a><link rel="canonical" href="https://example.com/"><img src="data:,">'
    (tmp_path / "a.html").write_text(text, encoding="utf-8")
    assert docs.offline_problems(tmp_path) == []
