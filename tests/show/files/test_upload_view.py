"""The upload View in Chromium, under the standard's default policy, with a real server behind it."""

import base64
import hashlib
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pandas as pd
import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from playwright.async_api import Browser, expect

from fanlight import Apps
from fanlight.show import Download, UploadedFile
from fanlight.show.files.uploads import PART_BYTES, UPLOAD_TOOL
from fanlight.testing.stage import Stage as HostStage
from support.browser import PATIENCE
from support.stage import Stage, on_stage
from support.wire import UI, Wire, WireError, in_memory, over_http, over_stdio

pytestmark = pytest.mark.anyio

URI = "ui://orders/fanlight-upload"
CSV = b"id,name\n1,Ada\n2,Grace\n"
DROP = """
(zone, files) => {
  const data = new DataTransfer();
  for (const [name, text] of files) data.items.add(new File([text], name));
  zone.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}
"""


def importing() -> Any:
    server: Any = MCPServer("orders")
    apps = Apps(server)

    @apps.upload(accept=[".csv"], max_bytes=2_000_000)
    def import_orders(file: UploadedFile, year: int = 2026) -> pd.DataFrame:
        "Import the orders of a year."
        return pd.read_csv(file.path).assign(year=year, file=file.name)

    @apps.upload(accept=[".txt"])
    def count(files: list[UploadedFile]) -> dict[str, int]:
        "Count bytes."
        return {file.name: file.size for file in files}

    return server


class Faulty(Wire):
    """A client whose connection fails at some of the parts, some of which arrive nevertheless."""

    def __init__(self, client: Wire) -> None:
        self._client = client
        self.writes = 0
        self.failing: dict[int, str] = {}
        self.blocked = anyio.Event()
        self.calls: list[str] = []

    async def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        assert params is not None
        arguments = params.get("arguments", {})
        if params.get("name") == UPLOAD_TOOL:
            self.calls.append(arguments["action"])
        fault = ""
        if arguments.get("action") == "write":
            self.writes += 1
            fault = self.failing.get(self.writes, "")
        if fault == "block":
            self.blocked.set()
            await anyio.sleep_forever()
        lost = WireError({"code": -32000, "message": "The connection was lost"})
        if fault == "before":
            raise lost
        result = await self._client.request(method, params)
        if fault == "after":
            raise lost
        return result


@asynccontextmanager
async def opened(
    browser: Browser, tool: str = "import_orders", arguments: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[tuple[Stage, Faulty]]:
    async with in_memory(importing(), "2025-11-25", UI) as client:
        faulty = Faulty(client)
        async with on_stage(browser, (await client.read(URI))["text"], faulty, **{"width": 700} | options) as stage:
            await stage.run(tool, arguments or {})
            await expect(stage.view.locator(".drop")).to_be_visible()
            yield stage, faulty
            assert stage.problems == []


def payload(name: str, content: bytes) -> Any:
    return {"name": name, "mimeType": "", "buffer": content}


async def test_a_chosen_file_is_uploaded_shown_and_summarized_for_the_model(browser: Browser) -> None:
    async with opened(browser, arguments={"year": 2025}) as (stage, _):
        await expect(stage.view.locator(".drop")).to_contain_text("Choose a file")
        await expect(stage.view.locator(".drop small")).to_have_text(".csv · up to 2 MB")
        chooser = stage.view.get_by_label("Choose a file")
        await chooser.set_input_files([payload("orders.csv", CSV)])
        await expect(stage.view.locator("tbody tr")).to_have_count(2)
        await expect(stage.view.locator("tbody tr").first).to_have_text("1Ada2025orders.csv")
        (context,) = await stage.sent("ui/update-model-context", 1)
        assert context["content"][0]["text"].startswith("The user uploaded orders.csv (22 bytes).\n\nA table of 2 rows")
        await expect(stage.view.locator("h1")).to_be_focused()
        await stage.view.get_by_role("button", name="Upload another file").click()
        await expect(stage.view.locator("input")).to_be_focused()
        await expect(stage.view.locator("#busy")).to_be_hidden()


@pytest.mark.parametrize("bridge", ["ext-apps-1", "ext-apps-2"])
async def test_uploads_work_under_the_published_bridge(bridge: str, browser: Browser) -> None:
    content = b"id\n" + b"123456789\n" * 60_000  # two parts
    async with opened(browser, bridge=bridge) as (stage, client):
        client.failing = {2: "before"}
        await stage.view.locator("input").set_input_files([payload("a.csv", content)])
        await expect(stage.view.locator(".status")).to_contain_text("of 60,000 rows")
        (context,) = await stage.sent("ui/update-model-context", 1)
        assert context["content"][0]["text"].startswith("The user uploaded a.csv (")
        assert client.calls.count("write") == 3


async def test_several_files_can_be_dropped(browser: Browser) -> None:
    async with opened(browser, "count") as (stage, _):
        await stage.view.locator(".drop").evaluate(DROP, [["a.txt", "abc"], ["b.txt", "de"]])
        await expect(stage.view.locator("pre")).to_have_text('{\n  "a.txt": 3,\n  "b.txt": 2\n}')


async def test_a_file_that_is_not_accepted_is_refused_before_anything_is_sent(browser: Browser) -> None:
    async with opened(browser) as (stage, client):
        zone, notice = stage.view.locator(".drop"), stage.view.locator("#notice p")
        await zone.evaluate(DROP, [["a.exe", "x"]])
        await expect(notice).to_have_text("a.exe is of another type. Accepted: .csv.")
        await zone.evaluate(DROP, [["a.csv", "x" * 2_500_000]])
        await expect(notice).to_have_text("a.csv has 2.5 MB, and at most 2 MB can be uploaded.")
        await zone.evaluate(DROP, [["a.csv", "x"], ["b.csv", "x"]])
        await expect(notice).to_have_text("At most one file at a time.")
        assert client.calls == []
        # What the function refuses stays in the same place, and another file can be chosen.
        await zone.evaluate(DROP, [["empty.csv", ""]])
        await expect(notice).to_have_text("No columns to parse from file")
        await zone.evaluate(DROP, [["a.csv", "id\n1"]])
        await expect(stage.view.locator("tbody tr")).to_have_count(1)
        await expect(notice).to_be_hidden()


async def test_an_upload_goes_on_after_lost_connections(browser: Browser) -> None:
    content = b"id\n" + b"123456789\n" * 120_000
    async with opened(browser) as (stage, client):
        client.failing = {1: "after", 3: "before"}
        await stage.view.locator("input").set_input_files([payload("a.csv", content)])
        await expect(stage.view.locator(".status")).to_contain_text("of 120,000 rows")
        parts = -(-len(content) // PART_BYTES)
        # The part that arrived although the connection was lost is not sent again.
        assert client.calls.count("write") == parts + 1
        assert client.calls.count("status") == 2
        assert client.calls.count("begin") == 1


async def test_an_upload_can_be_cancelled_and_is_removed_from_the_server(browser: Browser) -> None:
    async with opened(browser) as (stage, client):
        client.failing = {2: "block"}
        await stage.view.locator("input").set_input_files([payload("a.csv", b"x" * 1_000_000)])
        with anyio.fail_after(PATIENCE):
            await client.blocked.wait()
        await expect(stage.view.locator("#busy p")).to_have_text("Uploading a.csv…")
        await expect(stage.view.locator("#busy span")).to_have_text("393 kB of 1 MB")
        await stage.view.get_by_role("button", name="Cancel").click()
        await expect(stage.view.locator("#notice p")).to_have_text("The upload was cancelled.")
        await expect(stage.view.locator("#busy")).to_be_hidden()
        await expect(stage.view.locator("input")).to_be_enabled()
        await stage.page.wait_for_function(
            "messages.some(({ params }) => params?.arguments?.action === 'cancel')", timeout=1000 * PATIENCE
        )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<img src=x onerror=alert(1)>.csv", "_img src=x onerror=alert(1)_.csv"),
        ("\u202egpj\u202c.csv", "gpj.csv"),
        ("=cmd|calc!A0.csv", "=cmd_calc!A0.csv"),
    ],
)
async def test_a_hostile_name_is_only_text(name: str, shown: str, browser: Browser) -> None:
    async with opened(browser) as (stage, _):
        await stage.view.locator(".drop").evaluate(DROP, [[name.replace(".csv", ".exe"), "x"]])
        await expect(stage.view.locator("#notice p")).to_contain_text("is of another type")
        await stage.view.locator(".drop").evaluate(DROP, [[name, "id\n1"]])
        await expect(stage.view.locator("tbody td").last).to_have_text(shown)
        assert await stage.view.locator("img").count() == 0


async def test_a_file_is_saved_by_the_host_and_a_host_without_downloads_says_so(browser: Browser) -> None:
    server: Any = MCPServer("orders")

    @Apps(server).show()
    def report() -> list[Any]:
        return [Download(bytes(range(256)) * 2_000, "<b>report</b>.bin")]

    async with in_memory(server, "2025-11-25", UI) as client:
        html = (await client.read("ui://orders/fanlight-show"))["text"]
        async with on_stage(browser, html, client) as stage:
            await stage.run("report", {})
            button = stage.view.get_by_role("button", name="Save b_.bin (512 kB)")
            await button.click()
            (params,) = await stage.sent("ui/download-file", 1)
            resource = params["contents"][0]["resource"]
            assert resource["uri"] == "file:///b_.bin"
            assert base64.b64decode(resource["blob"]) == bytes(range(256)) * 2_000
            stage.unsupported.add("ui/download-file")
            await button.click()
            await expect(stage.view.locator("#notice p")).to_contain_text(
                "The file could not be saved: Method not found"
            )
            assert stage.problems == []


async def test_the_progress_of_the_function_shows_and_it_can_be_cancelled_in_our_host(browser: Browser) -> None:
    server: Any = MCPServer("orders")
    going_on, cancelled = anyio.Event(), anyio.Event()

    @Apps(server).upload()
    async def slow(file: UploadedFile, ctx: Context) -> str:
        await ctx.report_progress(1, 4, "A quarter is done")
        try:
            with anyio.fail_after(PATIENCE):
                await going_on.wait()
        except anyio.get_cancelled_exc_class():
            cancelled.set()
            raise
        return "imported"

    async with HostStage({"orders": server}, browser=browser) as stage, stage.open("orders", "slow", {}) as view:
        busy = view.frame.locator("#busy")
        await view.frame.locator("input").set_input_files([payload("a.txt", b"x")])
        await expect(busy.locator("p")).to_have_text("A quarter is done")
        await expect(busy.locator("progress")).to_have_js_property("value", 0.25)
        await view.frame.get_by_role("button", name="Cancel").click()
        await expect(view.frame.locator("#notice p")).to_have_text("The upload was cancelled.")
        with anyio.fail_after(PATIENCE):
            await cancelled.wait()
        await view.frame.locator("input").set_input_files([payload("a.txt", b"x")])
        await expect(busy.locator("p")).to_have_text("A quarter is done")
        going_on.set()
        await expect(view.frame.locator("pre")).to_have_text("imported")


LARGE = """
import hashlib
from mcp.server import MCPServer
from fanlight import Apps
from fanlight.show import UploadedFile

server = MCPServer("orders")


@Apps(server).upload()
def digest(file: UploadedFile) -> str:
    with file.open() as stream:
        return f"{file.size} {hashlib.file_digest(stream, 'sha256').hexdigest()}"


if __name__ == "__main__":
    server.run()
"""


@pytest.mark.process
@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_30_megabytes_go_through_a_transport(transport: str, browser: Browser, tmp_path: Path) -> None:
    content = bytes(range(251)) * 119_522
    (tmp_path / "large.bin").write_bytes(content)
    script = tmp_path / "server.py"
    script.write_text(textwrap.dedent(LARGE), encoding="utf-8")
    names: dict[str, Any] = {"__name__": "large"}
    exec(LARGE, names)
    async with (
        over_http(names["server"], "2025-11-25", UI)
        if transport == "http"
        else over_stdio(script, "2025-11-25", UI) as client,
        on_stage(browser, (await client.read(URI))["text"], client) as stage,
    ):
        await stage.run("digest", {})
        await stage.view.locator("input").set_input_files(tmp_path / "large.bin")
        expected = f"{len(content)} {hashlib.sha256(content).hexdigest()}"
        await expect(stage.view.locator("pre")).to_have_text(expected, timeout=1000 * PATIENCE)
        assert stage.problems == []
    assert len(content) >= 30_000_000 - 1_000
