"""The gallery of the documentation: every example, with a small picture in each theme."""

import re

import pytest

from support.docs import ROOT
from support.examples import VIEWS

PAGE = (ROOT / "docs" / "explanation" / "gallery.md").read_text(encoding="utf-8")
IMAGES = ROOT / "docs" / "images" / "gallery"


def test_the_gallery_shows_every_example() -> None:
    assert set(re.findall(r"^## (\S+)$", PAGE, re.M)) == set(VIEWS)


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("theme", ["", "-dark"])
def test_each_picture_is_on_the_page_and_small(name: str, theme: str) -> None:
    assert f"../images/gallery/{name}{theme}.png" in PAGE
    assert 1000 < (IMAGES / f"{name}{theme}.png").stat().st_size < 100_000
