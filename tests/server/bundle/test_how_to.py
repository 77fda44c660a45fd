"""The code and the error on the how-to page about bundling are correct."""

import re
from pathlib import Path

import pytest

from fanlight.protocol.csp import Csp
from fanlight.protocol.errors import BundleError
from fanlight.server.bundle import bundle_file, bundle_text

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "bundle-a-view.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


def test_the_example_of_the_page_is_bundled_with_all_files(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    for name in ("images/face.svg", "fonts/digits.woff2"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"x")

    bundle = bundle_file(tmp_path / "clock.html", Csp())

    names = [path.relative_to(tmp_path).as_posix() for path in bundle.files]
    assert names == ["clock.html", "clock.css", "fonts/digits.woff2", "clock.js", "images/face.svg"]
    assert (bundle.title, bundle.description) == ("Clock", "The time in a zone")


def test_the_error_on_the_page_is_the_one_that_is_raised() -> None:
    [shown] = re.findall(r"^> `(map\.html:7: .*)`$", PAGE, re.MULTILINE)
    document = "<!doctype html>" + "\n" * 6 + '<script src="https://cdn.example.com/map.js"></script>'

    with pytest.raises(BundleError, match=re.escape(shown)):
        bundle_text(document, Csp(), name="map.html")
