"""The QR code: equal to the codes of segno, shown as SVG, and a picture for clients without Views."""

import base64
import hashlib
import io
from typing import Any

import pytest
from PIL import Image
from playwright.async_api import Browser, expect

from support.examples import Refusing, client_of, namespace_of, showing
from support.wire import NO_UI

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return namespace_of("qr")


@pytest.mark.parametrize(
    ("version", "length", "mask", "digest"),  # of the codes that segno 1.6.6 makes
    [
        (1, 14, 0, "4591ff34627b0157"),
        (2, 26, 1, "e78b94128e5516f5"),
        (4, 62, 2, "dc58f1f63abd53ae"),
        (5, 84, 3, "cf1ecb040ab98e90"),
        (7, 122, 4, "6c76a909bb24caa1"),
        (8, 152, 5, "7c830a5ee3f468bf"),
        (9, 180, 6, "2561e7627993c252"),
        (10, 213, 7, "1f2fb1deb451ee74"),
    ],
)
def test_every_kind_of_code_is_the_one_of_segno(
    version: int, length: int, mask: int, digest: str, example: dict[str, Any]
) -> None:
    text = (b"0123456789abcdef" * 14)[:length]
    modules = example["draw"](example["codewords"](text, version), version, mask)
    rows = "\n".join("".join("01"[dark] for dark in row) for row in modules)
    assert hashlib.sha256(rows.encode()).hexdigest().startswith(digest)


@pytest.mark.parametrize(("length", "size"), [(1, 21), (14, 21), (15, 25), (180, 53), (181, 57), (213, 57)])
def test_a_code_is_as_large_as_its_text_needs(length: int, size: int, example: dict[str, Any]) -> None:
    assert len(example["encode"]("x" * length)) == size


@pytest.mark.parametrize(("text", "start"), [("menu", "404"), ("Menü", "71a405")])
def test_only_a_text_that_is_not_ascii_declares_its_encoding(text: str, start: str, example: dict[str, Any]) -> None:
    assert example["codewords"](text.encode(), 1).hex().startswith(start)


@pytest.mark.parametrize(("text", "size"), [("ä" * 6, 21), ("ä" * 7, 25), ("ä" * 106, 57)])
def test_a_declared_encoding_needs_room(text: str, size: int, example: dict[str, Any]) -> None:
    assert len(example["encode"](text)) == size


async def test_a_client_without_views_gets_a_picture_that_scanners_read(example: dict[str, Any]) -> None:
    async with client_of("qr", NO_UI) as client:
        text, image = (await client.call("make_qr_code", content="https://example.com"))["content"]
    assert text["text"] == "A QR code of 25 by 25 modules that says: https://example.com"
    picture = Image.open(io.BytesIO(base64.b64decode(image["data"])))
    assert picture.size == (8 * 33, 8 * 33)
    seen = [[not picture.getpixel((8 * x + 36, 8 * y + 36)) for x in range(25)] for y in range(25)]
    assert seen == example["encode"]("https://example.com")


@pytest.mark.parametrize(("text", "count", "limit"), [("ä" * 150, 300, 212), ("x" * 5000, 5000, 213)])
async def test_a_text_that_is_too_long_in_bytes_is_an_error(text: str, count: int, limit: int) -> None:
    async with client_of("qr") as client:
        result = await client.call("make_qr_code", content=text)
    assert result["isError"]
    assert f"The text has {count} bytes, and a code holds at most {limit}." in result["content"][0]["text"]


async def test_the_user_changes_the_code_and_the_model_gets_the_text(browser: Browser) -> None:
    async with showing(browser, "qr") as stage:
        code, box = stage.view.get_by_role("img"), stage.view.get_by_role("textbox", name="Link or text")
        await expect(code).to_have_accessible_name("QR code: https://example.com/menu")
        await box.fill("<b>Hello</b>")
        await stage.view.get_by_role("button", name="Make code").click()
        await expect(code).to_have_accessible_name("QR code: <b>Hello</b>")
        await expect(stage.view.get_by_role("status")).to_contain_text("21 × 21 modules")
        (context,) = await stage.sent("ui/update-model-context", 1)
        assert context["content"][0]["text"].endswith("It now says: <b>Hello</b>")
        assert await code.evaluate("code => getComputedStyle(code).backgroundColor") == "rgb(255, 255, 255)"
        await box.fill("x" * 5000)  # stays as it is, so that the user can shorten it
        await stage.view.get_by_role("button", name="Make code").click()
        await expect(stage.view.get_by_role("status")).to_contain_text("The text has 5000 bytes, and a code holds")
        await expect(code).to_have_accessible_name("QR code: <b>Hello</b>")
        await expect(box).to_have_value("x" * 5000)
        stage.client = Refusing()
        await stage.view.get_by_role("button", name="Make code").click()
        await expect(stage.view.get_by_role("status")).to_have_text("The host refuses.")
