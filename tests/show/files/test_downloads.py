"""Files that tools return for users to save."""

import base64
from pathlib import Path
from typing import Any

import pytest
from fastmcp import FastMCP
from mcp.server import MCPServer

from fanlight import Apps, ArgumentError
from fanlight.show import Download, Keep, Markdown
from fanlight.show.files.download import PART_BYTES
from fanlight.show.shows import DATA_TOOL
from support.shop import HIGH_LEVEL, Kind
from support.wire import UI, in_memory

pytestmark = pytest.mark.anyio


def make(kind: Kind = "MCPServer") -> tuple[Any, Apps]:
    server: Any = MCPServer("orders") if kind == "MCPServer" else FastMCP("orders")
    return server, Apps(server)


@pytest.mark.parametrize("kind", HIGH_LEVEL)
async def test_a_file_comes_in_parts_that_can_be_joined(kind: Kind, tmp_path: Path) -> None:
    content = bytes(range(256)) * 3_000
    path = tmp_path / "report.bin"
    path.write_bytes(content)
    server, apps = make(kind)

    @apps.show(visibility=["app"])
    def from_path() -> Download:
        return Download(path)

    @apps.show(visibility=["app"])
    def from_bytes() -> Download:
        return Download(content, "a/../b\u202e.bin", "application/x-thing")

    async with in_memory(server, "2025-11-25", UI) as client:
        assert set(await client.tools()) == {"from_path", "from_bytes", DATA_TOOL}
        for tool, name, type in (
            ("from_path", "report.bin", "application/octet-stream"),
            ("from_bytes", "b.bin", "application/x-thing"),
        ):
            result = await client.call(tool)
            item = result["structuredContent"]["item"]
            assert result["content"][0]["text"] == f"A file that the user can save: {name} (768 kB)."
            assert (item["kind"], item["name"], item["type"], item["size"]) == ("download", name, type, len(content))
            parts, start = [], 0
            while start < item["size"]:
                part = (await client.call(DATA_TOOL, handle=item["handle"], start=start))["structuredContent"]
                assert part["total"] == len(content)
                parts.append(part["data"])
                start = part["next"]
            assert base64.b64decode("".join(parts)) == content
            assert len(parts) == 2


async def test_a_file_among_other_things_has_its_place() -> None:
    server, apps = make()

    @apps.show()
    def report() -> list[Any]:
        return [Markdown("# Report"), Download(b"a,b", "report.csv")]

    async with in_memory(server, "2025-11-25", UI) as client:
        result = await client.call("report")
    items = result["structuredContent"]["item"]["items"]
    assert [item["kind"] for item in items] == ["markdown", "download"]
    assert "A file that the user can save: report.csv (3 bytes)." in result["content"][0]["text"]


async def test_the_file_of_another_session_cannot_be_saved() -> None:
    server, apps = make()
    apps.show("save", visibility=["app"])(lambda: Download(b"secret", "a.txt"))
    async with in_memory(server, "2025-11-25", UI) as alice, in_memory(server, "2025-11-25", UI) as bob:
        handle = (await alice.call("save"))["structuredContent"]["item"]["handle"]
        assert (await bob.call(DATA_TOOL, handle=handle))["structuredContent"] == {"gone": True}
        assert (await alice.call(DATA_TOOL, handle=handle))["structuredContent"]["data"] == "c2VjcmV0"


async def test_a_file_that_was_removed_meanwhile_is_an_error_that_says_so(tmp_path: Path) -> None:
    server, apps = make()
    path = tmp_path / "a.txt"
    path.write_bytes(b"x")
    apps.show("save", visibility=["app"])(lambda: Download(path))
    async with in_memory(server, "2025-11-25", UI) as client:
        handle = (await client.call("save"))["structuredContent"]["item"]["handle"]
        path.unlink()
        result = await client.call(DATA_TOOL, handle=handle)
    assert result["isError"]
    assert result["content"][0]["text"] == "a.txt can no longer be read on the server. Run the tool again."
    assert str(tmp_path) not in result["content"][0]["text"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("report.csv",), r"expected bytes or a pathlib\.Path\. Write Path\(\.\.\.\) for a file, or text\.encode\(\)"),
        ((Path("/nowhere/at/all"),), "there is no such file"),
        ((b"x" * 11, "a.bin", "", 10), r"a\.bin has 11 bytes, and hosts save files of up to 10 bytes"),
    ],
)
def test_what_cannot_be_saved_is_refused_with_what_to_do(arguments: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Download(*arguments)


async def test_a_file_larger_than_all_that_is_kept_is_an_error() -> None:
    server, apps = make()
    apps.show("save", keep=Keep(bytes=10))(lambda: Download(b"x" * 100))
    async with in_memory(server, "2025-11-25", UI) as client:
        assert (await client.call("save"))["isError"]


def test_parts_of_base64_can_be_joined() -> None:
    assert PART_BYTES % 3 == 0
