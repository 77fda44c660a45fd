"""The files of forms: `UploadedFile` in the function of `Apps.form`."""

import base64
import gzip
import json
from pathlib import Path
from typing import Annotated, Any

import anyio
import pytest
from fastmcp import FastMCP
from mcp import Client
from mcp.server import MCPServer
from mcp_types import ElicitRequestParams, ElicitResult
from playwright.async_api import Browser, FilePayload, expect
from pydantic import BaseModel, Field, ValidationError

from fanlight import Apps, RegistrationError, show
from fanlight.server.negotiation import lowlevel
from fanlight.show import FileLimits, UploadedFile, UploadStorage
from fanlight.show.files import uploads
from fanlight.show.files.uploads import UPLOAD_TOOL
from fanlight.show.forms.forms import SUBMIT_TOOL
from support.browser import PATIENCE
from support.shop import HIGH_LEVEL, Kind
from support.stage import on_stage
from support.wire import NO_UI, UI, Wire, in_memory

pytestmark = pytest.mark.anyio

kinds = pytest.mark.parametrize("kind", HIGH_LEVEL)


class Receipt(BaseModel):
    scan: Annotated[UploadedFile, FileLimits(accept=[".pdf"], max_bytes=1_000)]
    note: str = ""


class Claim(BaseModel):
    amount: int = Field(ge=1)
    table: Annotated[UploadedFile, FileLimits([".csv"], 2_000)] = Field(description="One row for each expense.")
    photos: list[UploadedFile] = Field([], max_length=2)
    other: UploadedFile | None = None
    receipts: list[Receipt] = []


class Claims:
    """A server with a form that takes files, and what was submitted to it."""

    def __init__(self, kind: Kind = "MCPServer") -> None:
        self.server: Any = MCPServer("shop") if kind == "MCPServer" else FastMCP("shop")
        self.apps = Apps(self.server)
        self.runs: list[dict[str, bytes]] = []
        self.paths: list[Path] = []

        @self.apps.form(submit="Send")
        def claim(claim: Claim) -> str:
            "Claim expenses."
            files = [claim.table, *claim.photos, *(each.scan for each in claim.receipts)]
            self.paths = [file.path for file in files]
            self.runs.append({file.name: file.path.read_bytes() for file in files})
            if claim.amount == 13:
                raise show.FieldError("table", "The table has no header.")
            return "thanks"

        @self.apps.form()
        def other(file: Annotated[UploadedFile, FileLimits([".csv"], 2_000)]) -> str:
            return file.name


async def target_of(client: Wire, *path: str, form: str = "claim") -> str:
    schema = (await client.call(form))["structuredContent"]["item"]["schema"]
    for step in path:
        found = schema["properties"][step] if step != "[]" else schema["items"]
        schema = found
    return str(schema["target"])


async def uploaded(client: Wire, target: str, name: str = "a.csv", data: bytes = b"a,b\n") -> str:
    begun = await client.call(UPLOAD_TOOL, action="begin", target=target, name=name, size=len(data))
    id = str(begun["structuredContent"]["upload"])
    await client.call(UPLOAD_TOOL, action="write", upload=id, start=0, data=base64.b64encode(data).decode())
    return id


async def submitted(client: Wire, values: dict[str, Any], form: str = "claim") -> dict[str, Any]:
    return await client.call(SUBMIT_TOOL, form=form, values=values)


def errors(result: dict[str, Any]) -> dict[str, str]:
    assert result["isError"], result
    found = result["structuredContent"]["errors"]
    return {".".join(map(str, each["path"])): each.get("message") or each["reason"] for each in found}


GONE = "The upload is no longer on the server. Upload the file again."


@kinds
async def test_the_function_gets_the_files_and_the_model_their_names_and_sizes(kind: Kind) -> None:
    claims = Claims(kind)
    async with in_memory(claims.server, "2025-11-25", UI) as client:
        table = await uploaded(client, await target_of(client, "table"))
        photos = [await uploaded(client, await target_of(client, "photos", "[]"), f"{n}.png") for n in range(2)]
        schema = (await client.call("claim"))["structuredContent"]["item"]["schema"]
        scan_target = schema["$defs"]["Receipt"]["properties"]["scan"]["target"]
        scan = await uploaded(client, scan_target, "r.pdf", b"%PDF-1")
        values = {"amount": 1, "table": table, "photos": photos, "receipts": [{"scan": scan, "note": "n"}]}
        result = await submitted(client, values)
    assert not result.get("isError"), result
    assert claims.runs == [{"a.csv": b"a,b\n", "0.png": b"a,b\n", "1.png": b"a,b\n", "r.pdf": b"%PDF-1"}]
    text = result["content"][0]["text"]
    assert '"table": "a.csv (4 bytes)", "photos": "0.png (4 bytes), 1.png (4 bytes)"' in text
    assert '"receipts": [{"scan": "r.pdf (6 bytes)", "note": "n"}]' in text
    assert not any(id in text for id in (table, scan, *photos))
    assert not any(path.exists() for path in claims.paths)


@kinds
async def test_the_model_does_not_see_the_fields_for_files_and_cannot_fill_them_in(kind: Kind) -> None:
    async with in_memory(Claims(kind).server, "2025-11-25", UI) as client:
        tools = await client.tools()
        properties = tools["claim"]["inputSchema"]["properties"]
        assert list(properties) == ["amount", "receipts"]
        assert "scan" not in str(properties)
        assert not tools["other"]["inputSchema"].get("properties")
        item = (await client.call("claim", receipts=[{"scan": "x", "note": "n"}]))["structuredContent"]["item"]
    assert item["values"] == {"receipts": [{"note": "n"}]}
    assert item["errors"] == []
    table = item["schema"]["properties"]["table"]
    assert (table["accept"], table["maxBytes"], table["maxSize"]) == ([".csv"], 2_000, "2 kB")
    assert item["schema"]["properties"]["photos"]["maxItems"] == 2


async def test_an_upload_of_another_user_is_refused_at_the_field(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = Claims()
    users = [("user", "alice"), ("user", "mallory")]
    monkeypatch.setattr(uploads, "current_caller", lambda: users[0])
    async with in_memory(claims.server, "2025-11-25", UI) as client:
        table = await uploaded(client, await target_of(client, "table"))
        users.reverse()
        assert errors(await submitted(client, {"amount": 1, "table": table})) == {"table": GONE}
        users.reverse()
        assert not (await submitted(client, {"amount": 1, "table": table})).get("isError")
    assert len(claims.runs) == 1


async def test_an_upload_to_another_target_or_one_that_was_taken_is_refused_at_the_field() -> None:
    claims = Claims()
    async with in_memory(claims.server, "2025-11-25", UI) as client:
        photo = await uploaded(client, await target_of(client, "photos", "[]"))
        foreign = await uploaded(client, await target_of(client, "file", form="other"))
        table = await uploaded(client, await target_of(client, "table"))
        for id in (photo, foreign, "unknown"):
            assert errors(await submitted(client, {"amount": 1, "table": id})) == {"table": GONE}
        # One that fits the limits of another field, and is submitted for both.
        both = {"amount": 1, "photos": [photo], "table": photo}
        assert errors(await submitted(client, both)) == {"table": GONE}
        assert claims.runs == []
        assert not (await submitted(client, {"amount": 1, "table": table})).get("isError")
        assert errors(await submitted(client, {"amount": 1, "table": table})) == {"table": GONE}
        assert errors(await submitted(client, {"amount": 1, "table": 7, "other": {"path": "/etc/passwd"}})) == {
            "table": "Only the form can take a file.",
            "other": "Only the form can take a file.",
        }
    assert len(claims.runs) == 1


async def test_files_stay_while_other_fields_are_corrected() -> None:
    claims = Claims()
    async with in_memory(claims.server, "2025-11-25", UI) as client:
        table = await uploaded(client, await target_of(client, "table"))
        assert errors(await submitted(client, {"table": table})) == {"amount": "is required"}
        refused = await submitted(client, {"amount": 13, "table": table})
        assert errors(refused) == {"table": "The table has no header."}
        assert not (await submitted(client, {"amount": 1, "table": table})).get("isError")
        assert errors(await submitted(client, {"amount": 1})) == {"table": "is required"}
        claims.runs.clear()
        table = await uploaded(client, await target_of(client, "table"))
        await submitted(client, {"amount": 13, "table": table})
        claims.paths[0].unlink()
        assert "were announced" in errors(await submitted(client, {"amount": 1, "table": table}))["table"]


async def test_files_outside_the_limits_are_refused() -> None:
    claims = Claims()
    async with in_memory(claims.server, "2025-11-25", UI) as client:
        target = await target_of(client, "table")
        for name, size, reason in (("a.exe", 4, "Accepted: .csv"), ("a.csv", 2_001, "at most 2 kB")):
            begun = await client.call(UPLOAD_TOOL, action="begin", target=target, name=name, size=size)
            assert reason in begun["content"][0]["text"]
        unfinished = await client.call(UPLOAD_TOOL, action="begin", target=target, name="a.csv", size=4)
        id = unfinished["structuredContent"]["upload"]
        found = errors(await submitted(client, {"amount": 1, "table": id}))
    assert found == {"table": "a.csv is not complete: 0 of 4 bytes."}


async def test_without_a_view_the_model_and_the_user_learn_that_a_file_needs_one() -> None:
    async with in_memory(Claims().server, "2025-11-25", NO_UI) as client:
        text = (await client.call("claim", amount=1))["content"][0]["text"]
    assert "Only the form can take: table is required. Ask the user to use a client that shows MCP Apps." in text

    server: Any = MCPServer("shop")
    asked: list[str] = []

    @Apps(server).form()
    def rate(stars: int, photo: UploadedFile | None = None) -> str:
        return f"{stars} {photo}"

    async def answer(context: Any, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"stars": 3})

    async with Client(lowlevel(server), elicitation_callback=answer, mode="legacy") as asking:
        result = await asking.call_tool("rate", {})
    assert result.content[0].text.endswith("Result: 3 None")  # type: ignore[union-attr]
    assert "Files need a client that shows MCP Apps: photo." in asked[0]


def test_a_model_with_a_file_can_be_made_in_python(tmp_path: Path) -> None:
    file = UploadedFile("a.pdf", 1, "application/pdf", tmp_path / "a.pdf")
    assert Receipt(scan=file).scan is file
    with pytest.raises(ValidationError, match="Only the form can take a file"):
        Receipt.model_validate({"scan": "id"})


def test_limits_beside_something_else_are_refused_when_the_form_is_registered() -> None:
    apps = Apps(MCPServer("shop"))
    with pytest.raises(RegistrationError, match="expected UploadedFile or a list of it"):

        @apps.form()
        def wrong(file: Annotated[str, FileLimits()]) -> str:
            return file


async def test_only_forms_with_files_have_the_script_that_uploads() -> None:
    claims = Claims()

    @claims.apps.form()
    def plain(name: str) -> str:
        return name

    async with in_memory(claims.server, "2025-11-25", UI) as client:
        plain_html = (await client.read("ui://shop/fanlight-form"))["text"]
        html = (await client.read("ui://shop/fanlight-form-files"))["text"]
    assert "fanlight_upload" not in plain_html
    assert "fanlight_upload" in html
    assert len(gzip.compress(plain_html.encode(), 9)) <= 15_000
    assert "./" not in html


SHOW = "result => notify('ui/notifications/tool-result', JSON.parse(result))"


class Stalling(Wire):
    """A client whose first part of a file never arrives, until `resume` is set."""

    def __init__(self, client: Wire) -> None:
        self._client = client
        self.reached = anyio.Event()
        self.is_stalling = True
        self.uploads: list[str] = []

    async def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        arguments = (params or {}).get("arguments", {})
        if arguments.get("action") == "begin":
            self.uploads.append(arguments["name"])
        if arguments.get("action") == "write" and self.is_stalling:
            self.reached.set()
            await anyio.sleep_forever()
        return await self._client.request(method, params)


async def test_the_view_uploads_on_submit_shows_errors_at_the_field_and_sends_a_file_once(browser: Browser) -> None:
    claims = Claims()
    async with in_memory(claims.server, "2025-11-25", UI) as client:
        stalling = Stalling(client)
        html = (await client.read("ui://shop/fanlight-form-files"))["text"]
        async with on_stage(browser, html, stalling, width=390, height=1400) as stage:
            view = stage.view
            await stage.page.evaluate(SHOW, json.dumps(await client.call("claim")))
            table, photos = view.get_by_label("Table *"), view.get_by_label("Photos", exact=True)
            send = view.get_by_role("button", name="Send")
            await expect(table).to_have_attribute("accept", ".csv", timeout=1000 * PATIENCE)
            await expect(view.get_by_text("One row for each expense. .csv · up to 2 kB")).to_be_visible()
            await view.get_by_label("Amount").fill("13")
            await send.click()
            await expect(view.get_by_text("Table is required.")).to_be_visible()
            big = FilePayload(name="big.csv", mimeType="text/csv", buffer=b"x" * 2_001)
            await table.set_input_files(big)
            await send.click()
            await expect(view.get_by_text("Table must have at most 2 kB.")).to_be_visible()
            await table.set_input_files(FilePayload(name="a.exe", mimeType="", buffer=b"x"))
            await send.click()
            # The server refuses it before its first byte.
            await expect(view.get_by_text("a.exe is of another type. Accepted: .csv.")).to_be_visible(
                timeout=1000 * PATIENCE
            )
            await expect(table).to_be_focused()
            three: list[FilePayload] = [{"name": f"{n}.png", "mimeType": "image/png", "buffer": b"p"} for n in range(3)]
            await photos.set_input_files(three)
            await table.set_input_files(FilePayload(name="<b>.csv", mimeType="text/csv", buffer=b"a\n"))
            await send.click()
            await expect(view.get_by_text("Photos must have at most 2 items.")).to_be_visible()
            await photos.set_input_files(three[:2])
            await send.click()
            with anyio.fail_after(PATIENCE):
                await stalling.reached.wait()
            await expect(view.get_by_role("progressbar", name="Upload of Table")).to_be_visible()
            await view.get_by_role("button", name="Cancel the upload of Table").click()
            await expect(view.get_by_text("The upload was cancelled.")).to_be_visible(timeout=1000 * PATIENCE)
            stalling.is_stalling = False
            stalling.uploads.clear()
            await send.click()
            await expect(view.get_by_text("The table has no header.")).to_be_visible(timeout=1000 * PATIENCE)
            assert stalling.uploads == ["<b>.csv", "0.png", "1.png"]
            wider = "root => root.scrollWidth - root.clientWidth"
            assert await view.locator("html").evaluate(wider) <= 0
            # The table is sent again, because something was wrong with it; the photos are on the server.
            await view.get_by_label("Amount").fill("1")
            await send.click()
            await expect(view.get_by_text("thanks")).to_be_visible(timeout=1000 * PATIENCE)
            assert stalling.uploads[3:] == ["<b>.csv"]
            (said,) = await stage.sent("ui/update-model-context", 1)
            assert '"table": "_b_.csv (2 bytes)"' in said["content"][0]["text"]
            # The files of a submission that succeeded are gone, so that they are sent again with the next.
            await view.get_by_role("button", name="Edit again").click()
            await send.click()
            await stage.sent("ui/update-model-context", 2)
            assert stalling.uploads[4:] == ["<b>.csv", "0.png", "1.png"]
            assert stage.problems == []
    assert [list(run) for run in claims.runs] == [["_b_.csv", "0.png", "1.png"]] * 3


async def test_a_form_with_files_shows_a_table_after_submitting(browser: Browser) -> None:
    claims = Claims()

    @claims.apps.form()
    def lines(files: list[UploadedFile]) -> list[dict[str, Any]]:
        return [{"file": file.name, "bytes": file.size} for file in files]

    async with in_memory(claims.server, "2025-11-25", UI) as client:
        html = (await client.read("ui://shop/fanlight-form-show-files"))["text"]
        async with on_stage(browser, html, client, width=1000, height=900) as stage:
            await stage.page.evaluate(SHOW, json.dumps(await client.call("lines")))
            files: list[FilePayload] = [
                {"name": f"{n}.txt", "mimeType": "text/plain", "buffer": b"x" * n} for n in range(2)
            ]
            await stage.view.get_by_label("Files *").set_input_files(files)
            await stage.view.get_by_role("button", name="Submit").click()
            await expect(stage.view.locator("tbody tr")).to_have_count(2, timeout=1000 * PATIENCE)
            assert stage.problems == []


async def test_a_form_has_a_storage_of_its_own() -> None:
    claims = Claims()

    @claims.apps.form(storage=UploadStorage(uploads_per_caller=1))
    def one(file: UploadedFile) -> str:
        return file.name

    async with in_memory(claims.server, "2025-11-25", UI) as client:
        target = await target_of(client, "file", form="one")
        await uploaded(client, target)
        begun = await client.call(UPLOAD_TOOL, action="begin", target=target, name="b.csv", size=1)
        assert begun["content"][0]["text"] == "You have 1 unfinished uploads. Finish or cancel one of them first."
        await uploaded(client, await target_of(client, "table"))


def test_a_storage_without_a_field_for_files_is_an_error() -> None:
    apps = Apps(MCPServer("shop"))
    with pytest.raises(RegistrationError, match="one has no field for files, so storage has no effect"):

        @apps.form(storage=UploadStorage())
        def one(text: str) -> None: ...

    wrong: Any = "disk"
    with pytest.raises(RegistrationError, match=r"storage is 'disk', expected show\.UploadStorage"):
        apps.form("two", storage=wrong)
