"""Build the documentation site, or show it while the pages are edited.

    python scripts/docs.py build            into build/site; fails for a broken link, a missing anchor, a page that
                                            the navigation lacks, and anything that is loaded from another host
    python scripts/docs.py serve [PORT]     on this machine, at port 8080 by default; reloads what changes

zensical.toml is the configuration, scripts/site_markdown.py what the pages need besides.
"""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

ROOT: Final = Path(__file__).resolve().parent.parent
ADDRESS: Final = "127.0.0.1"

# The attributes by which a page loads something at once. A link that waits for a click (<a href>) loads nothing.
_LOADS: Final = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "image": ("href", "xlink:href"),
    "img": ("src", "srcset"),
    "input": ("src",),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "track": ("src",),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}
# <link rel> values that name a relation of pages and load nothing.
_RELATIONS: Final = frozenset({"alternate", "author", "canonical", "license", "next", "prev"})
_CSS_LOAD: Final = re.compile(r"""(?:url\(\s*|@import\s+)["']?([^"')\s;]+)""")
# How blocks of Markdown begin that are not sentences.
_NOT_PROSE: Final = ("#", "<", "|", "- ", "!", "1. ")
_ELSEWHERE: Final = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)


class DocsError(Exception):
    """The site cannot be built as it should be; says why, a line each."""


# Building


def build(root: Path = ROOT) -> Path:
    """Build the site of a checkout and return its folder. Raises DocsError for anything that is not in order."""
    config = _config(root)
    _raise_for(navigation_problems(config, root))
    site = root / str(config["site_dir"])
    done = subprocess.run(
        [*_zensical("build"), "--strict", "--clean"], cwd=root, env=_environment(), capture_output=True, text=True
    )
    if done.returncode != 0:
        raise DocsError(_plain(done.stdout + done.stderr))
    _raise_for([*link_problems(site), *offline_problems(site)])
    write_for_models(config, root, site)
    return site


def serve(port: int, root: Path = ROOT) -> int:
    """Show the site until Ctrl+C."""
    command = [*_zensical("serve"), "--dev-addr", f"{ADDRESS}:{port}"]
    try:
        return subprocess.run(command, cwd=root, env=_environment()).returncode
    except KeyboardInterrupt:
        return 0


def _zensical(command: str) -> list[str]:
    return [sys.executable, "-m", "zensical", command]


def _environment() -> dict[str, str]:
    """Return an environment in which the generator finds scripts/site_markdown.py."""
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _config(root: Path) -> dict[str, Any]:
    with (root / "zensical.toml").open("rb") as file:
        config: dict[str, Any] = tomllib.load(file)["project"]
    return config


def _plain(text: str) -> str:
    """Return the generator's messages without colours, and without its traceback where it names the issues itself."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return re.sub(r"(\d+ issues? found\n)Traceback .*", r"\1", plain, flags=re.DOTALL).strip()


def _raise_for(problems: list[str]) -> None:
    if problems:
        raise DocsError("\n".join(problems))


# For language models


def write_for_models(config: dict[str, Any], root: Path, site: Path) -> None:
    """Write llms.txt, an index of the pages for language models, and each page as Markdown beside its HTML."""
    docs = root / config["docs_dir"]
    lines = [f"# {config['site_name']}", "", f"> {config['site_description']}"]
    for page in navigation(config):
        copy = site / page
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((docs / page).read_bytes())
    for heading, pages in _sections(config["nav"]):
        lines += ["", f"## {heading}", ""]
        lines += [_entry(page, (docs / page).read_text(encoding="utf-8")) for page in pages]
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _sections(nav: list[object], heading: str = "") -> Iterator[tuple[str, list[str]]]:
    """Return the pages of the navigation under their headings."""
    for entry in nav:
        if isinstance(entry, dict):
            for name, value in entry.items():
                if isinstance(value, str):
                    yield name, [value]
                    continue
                title = f"{heading}: {name}" if heading else name
                if pages := [page for page in value if isinstance(page, str)]:
                    yield title, pages
                yield from _sections([group for group in value if isinstance(group, dict)], title)


def _entry(page: str, text: str) -> str:
    """Return the line of a page: its title, its address, and the first sentence of it."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    blocks = [" ".join(block.split()) for block in prose.split("\n\n") if block.strip()]
    title = next((block.removeprefix("# ") for block in blocks if block.startswith("# ")), page)
    paragraph = next((block for block in blocks if not block.startswith(_NOT_PROSE)), "")
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", paragraph).replace("**", "")
    sentence = re.split(r"(?<=\.)\s", plain, maxsplit=1)[0]
    return f"- [{title}]({page}): {sentence}" if sentence else f"- [{title}]({page})"


# Checking


def navigation(config: dict[str, Any]) -> list[str]:
    """Return the pages of the navigation in order."""
    return list(_pages_of(config["nav"]))


def _pages_of(entry: object) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for value in entry.values():
            yield from _pages_of(value)
    elif isinstance(entry, list):
        for value in entry:
            yield from _pages_of(value)


def navigation_problems(config: dict[str, Any], root: Path) -> list[str]:
    """Return the pages that the navigation lacks, has twice, or has although they do not exist."""
    docs = root / config["docs_dir"]
    listed = navigation(config)
    existing = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    nav = "the nav of zensical.toml"
    return [
        *(f"{page} is not in {nav}." for page in sorted(existing - set(listed))),
        *(f"{page} is in {nav}, and there is no such page." for page in listed if page not in existing),
        *(f"{page} is in {nav} twice." for page in sorted(set(listed)) if listed.count(page) > 1),
    ]


class Page(HTMLParser):
    """What a page of the site refers to: its anchors, its links, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self._style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._style = tag == "style"
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        self.loads += _CSS_LOAD.findall(given.get("style", ""))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and set(given.get("rel", "").split()) & _RELATIONS:
            self.links.append(given["href"])
            return
        for name in _LOADS.get(tag, ()):
            if name in given:
                self.loads += _candidates(given[name]) if name == "srcset" else [given[name]]

    def handle_data(self, data: str) -> None:
        if self._style:
            self.loads += _CSS_LOAD.findall(data)

    def handle_endtag(self, tag: str) -> None:
        self._style = False


def _candidates(srcset: str) -> list[str]:
    """Return the addresses of a `srcset`, without their sizes."""
    return [part.split()[0] for part in srcset.split(",") if part.strip()]


def link_problems(site: Path) -> list[str]:
    """Return the links and loads of the site that lead to no file, or to no anchor of one."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    problems = []
    for path, page in pages.items():
        for target in dict.fromkeys([*page.links, *page.loads]):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            base = site if parts.path.startswith("/") else path.parent
            to = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            where = path.relative_to(site).as_posix()
            if not to.is_file():
                problems.append(f"{where}: {target} leads to no file of the site.")
            elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].anchors:
                problems.append(f"{where}: {target} leads to no anchor of {to.relative_to(site).as_posix()}.")
    return problems


def offline_problems(site: Path) -> list[str]:
    """Return what pages and stylesheets of the site load from another host."""
    loads = {path: Page(path.read_text(encoding="utf-8")).loads for path in sorted(site.rglob("*.html"))}
    for kind in ("css", "svg"):
        loads |= {path: _CSS_LOAD.findall(path.read_text(encoding="utf-8")) for path in sorted(site.rglob(f"*.{kind}"))}
    return [
        f"{path.relative_to(site).as_posix()}: {target} is loaded from another host."
        for path, targets in loads.items()
        for target in targets
        if _ELSEWHERE.match(target)
    ]


def main(arguments: list[str]) -> int:
    match arguments:
        case ["build"]:
            try:
                print(f"docs: built {build().relative_to(ROOT)}/index.html")
            except DocsError as error:
                print(error, file=sys.stderr)
                return 1
            return 0
        case ["serve", *port] if len(port) <= 1:
            return serve(int(*port or ["8080"]))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
