"""The audit log: messages, decisions, documents, violations, and traces."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fanlight.host import AuditRecord, Host, MemoryStore, Policy, SqliteStore, json_line
from fanlight.host.consent.audit import Audit
from fanlight.host.host import runtime_of
from fanlight.host.store.base import AuditQuery
from host.test_consent import HELLO, answered, board, call, opened
from support.page import Page

pytestmark = pytest.mark.anyio

OPEN = Policy({"tools": "allow"})


async def test_every_message_is_recorded_with_size_outcome_and_duration() -> None:
    host = Host({"board": board()}, policy=OPEN)
    async with opened(host) as page:
        await call(page, "move", to=3)
        await page.message()
        await call(page, "nothing", 8)
        await page.message()
        await page.say({"method": "ui/notifications/size-changed", "params": {"height": 10}})
        records = [record async for record in host.audit(kind="message")]
        assert [(record.name, record.outcome) for record in records] == [
            ("ui/initialize", "ok"),
            ("ui/notifications/initialized", "ok"),
            ("tools/call", "ok"),
            ("tools/call", "error"),
            ("ui/notifications/size-changed", "ok"),
        ]
        one = records[2]
        assert (one.server, one.conversation, one.bytes_in) == ("board", "c1", 100)
        assert one.bytes_out is not None
        assert one.duration is not None
        assert abs(one.time - time.time()) < 60
        assert one.data is not None
        assert one.data["tool"] == "move"
        assert len(one.data["argumentsSha256"]) == 64
        assert records[3].data is not None
        assert records[3].data["error"]["code"] == -32602


async def test_the_size_of_a_response_is_counted_in_bytes() -> None:
    """Goes red if characters are counted."""
    host = Host({"board": board()}, policy=OPEN)
    async with opened(host) as page:
        for id, piece in ((7, "o"), (8, "ö"), (9, "😀")):
            await call(page, f"no{piece}thing", id)
            await page.message()
        records = [record async for record in host.audit(name="tools/call")]
        first, *others = [record.bytes_out or 0 for record in records]
        assert [size - first for size in others] == [1, 3]


async def test_every_decision_is_recorded_with_its_maker() -> None:
    host = Host({"board": board()})
    async with opened(host) as page:
        for name, word in (("look", None), ("move", "always"), ("clear", "deny")):
            await call(page, name)
            if word is not None:
                await answered(page, word)
            await page.message()
        await call(page, "move")
        await page.message()
        found = [
            (record.name, record.outcome, record.by, (record.data or {})["key"])
            async for record in host.audit(kind="decision")
        ]
        assert found[1:] == [
            ("tool", "allowed", "policy", "look"),
            ("tool", "allowed", "user", "move"),
            ("tool", "denied", "user", "clear"),
            ("tool", "allowed", "user, always", "move"),
        ]
        assert found[0][:3] == ("document", "allowed", "policy")


async def test_every_document_is_recorded_with_its_digest_and_policy() -> None:
    host = Host({"board": board()}, policy=Policy({"block_domains": ["evil.example"]}))
    async with opened(host):
        (shown,) = [record async for record in host.audit(kind="document")]
        assert shown.data is not None
        assert shown.name == "ui://board/view"
        assert len(shown.data["sha256"]) == 64
        assert shown.data["csp"].startswith("default-src 'none'; script-src")
        assert shown.data["denied"] == ["https://evil.example"]


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        ("whole", {"arguments": {"name": "look", "arguments": {"secret": 1}}}),
        ("none", {}),
        (lambda name, arguments: f"{name}: {len(arguments)}", {"arguments": "tools/call: 2"}),
    ],
)
async def test_arguments_are_recorded_as_configured(keep: Any, kept: dict[str, Any]) -> None:
    host = Host({"board": board()}, audit_arguments=keep)
    async with opened(host) as page:
        await call(page, "look", secret=1)
        await page.message()
        (record,) = [record async for record in host.audit(name="tools/call")]
        assert record.data == {**kept, "tool": "look"}


def test_an_invalid_value_for_audit_arguments_raises() -> None:
    with pytest.raises(ValueError, match='expected "whole"'):
        Host({}, audit_arguments="some")  # type: ignore[arg-type]


async def test_text_that_is_not_valid_utf_8_does_not_end_the_host(tmp_path: Path) -> None:
    """Goes red without `_whole`: the host's task group ends, and with it the host."""
    host = Host({"board": board()}, store=f"sqlite:///{tmp_path / 'a.db'}", policy=OPEN)
    async with opened(host) as page:
        await page.say({"method": "\ud800", "params": {}})
        await anyio.sleep(0.4)
        await page.say({"id": 5, "method": "\ud800"})
        assert (await page.message())["error"]["code"] == -32601
        await call(page, "look")
        assert "result" in await page.message()
        assert [record.name async for record in host.audit(kind="message")][-3:] == ["\\ud800", "\\ud800", "tools/call"]


async def test_no_record_is_lost_while_the_store_fails(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(MemoryStore):
        fails = True

        async def record(self, records: Any) -> None:
            if self.fails:
                raise OSError("disk full")
            await super().record(records)

    store = Failing()
    audit = Audit(store)
    with anyio.move_on_after(0.6):
        audit.buffer(AuditRecord(1.0, "message", "ping", "ok"))
        await audit.run()
    assert "disk full" in caplog.text
    store.fails = False
    assert len([record async for record in audit.records(AuditQuery())]) == 1


@pytest.mark.parametrize("place", ["memory", "file"])
async def test_records_are_found_by_each_field_of_a_query(place: str, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.db") if place == "file" else MemoryStore()
    audit = Audit(store)
    for i in range(2500):
        audit.buffer(AuditRecord(float(i), "message", "ping", "ok", view=f"v{i % 2}", server="s", conversation="c"))
    assert len([record async for record in audit.records(AuditQuery())]) == 2500
    assert len([record async for record in audit.records(AuditQuery(view="v1"))]) == 1250
    assert [record.time async for record in audit.records(AuditQuery(since=10, until=13))] == [10, 11, 12]
    assert [record.time async for record in audit.records(AuditQuery(view="v0", limit=3))] == [0, 2, 4]
    assert len([record async for record in audit.records(AuditQuery(limit=1500))]) == 1500
    assert [record async for record in audit.records(AuditQuery(kind="decision"))] == []


async def test_a_store_in_memory_keeps_a_limited_number_of_records() -> None:
    store = MemoryStore(max_records=10)
    for i in range(100):
        await store.record([AuditRecord(float(i), "message", "ping", "ok")])
    assert [record.time async for record in store.records(AuditQuery())] == list(range(90, 100))


def test_a_record_is_written_as_one_line_of_json() -> None:
    record = AuditRecord(1.5, "message", "ping", "ok", view="v", data={"a": [1]})
    assert json.loads(json_line(record)) == {
        "time": 1.5,
        "kind": "message",
        "name": "ping",
        "outcome": "ok",
        "view": "v",
        "data": {"a": [1]},
    }
    assert "\n" not in json_line(record)


async def test_violations_are_recorded_and_harmless_probes_are_marked() -> None:
    host = Host({"board": board()})
    async with opened(host) as page:
        label = page.shown["document"].removeprefix("http://").partition(".")[0]
        probe = {"directive": "script-src", "blocked": "eval", "sample": "(function anonymous(\n) {\n\n})"}
        for report in (probe, {**probe, "sample": "alert(1)"}, {**probe, "blocked": "inline"}):
            runtime_of(host).opener.log_csp_report(label, report)
        runtime_of(host).opener.log_csp_report("unknown", probe)
        await page.tell({"type": "csp-violation", "directive": "frame-src", "blocked": "http://x"})
        await page.tell({"type": "load-failed", "message": "The sandbox proxy did not answer."})
        found = [(record.kind, record.name, record.outcome, record.by) async for record in host.audit(server="board")]
        assert found[-5:] == [
            ("violation", "script-src", "probe", "browser"),
            ("violation", "script-src", "blocked", "browser"),
            ("violation", "script-src", "blocked", "browser"),
            ("violation", "frame-src", "blocked", "page"),
            ("document", "failed", "blocked", "page"),
        ]
        assert len({record.view async for record in host.audit(kind="violation")}) == 1


async def test_a_views_request_and_the_servers_part_are_one_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("mcp-python-sdk")
    monkeypatch.setattr("fanlight.host.views.requests.tracing._tracer", tracer)
    monkeypatch.setattr("mcp.shared._otel._tracer", tracer)
    host = Host({"board": board()}, policy=OPEN)
    async with opened(host) as page:
        exporter.clear()
        await call(page, "move")
        await page.message()
        await page.say({"id": 1, "method": "ui/open-link", "params": {"url": "vscode:x"}})
        await page.message()
    spans = exporter.get_finished_spans()
    asked = next(span for span in spans if "fanlight.view" in (span.attributes or {}))
    assert asked.name == "tools/call"
    assert asked.attributes is not None
    assert asked.attributes["fanlight.server"] == "board"
    below = [span for span in spans if span.parent and span.parent.span_id == asked.context.span_id]
    assert below
    refused = next(span for span in spans if span.name == "ui/open-link")
    assert refused.status.description == "Only http and https links are opened."


KILLED = """
import sys
sys.path[:0] = [{tests!r}]
import anyio, os, signal
from fanlight.host import Host, Policy
from host.test_consent import board, call, opened

async def main():
    host = Host({{"board": board()}}, policy=Policy({{"tools": "allow"}}), store="sqlite:///{path}")
    async with opened(host) as page:
        for i in range(20):
            await call(page, "move", i, to=i)
            await page.message()
            print(i, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

anyio.run(main)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.process
async def test_killing_the_process_loses_no_record_of_a_response(tmp_path: Path) -> None:
    """Goes red if responses are buffered: then the last quarter of a second is lost."""
    path = tmp_path / "audit.db"
    code = KILLED.format(tests=str(Path(__file__).parents[1]), path=path)
    done = subprocess.run(  # noqa: ASYNC221  nothing else runs in this loop
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == -9, done.stderr
    assert done.stdout.split() == [str(i) for i in range(20)]
    records = [record async for record in SqliteStore(path).records(AuditQuery(name="tools/call"))]
    assert len(records) == 20


KILLED_BETWEEN = """
import sys
sys.path[:0] = [{tests!r}]
import anyio, os, signal
from fanlight.host import Host
from host.test_consent import board
from support.calls import call_tool

async def main():
    async with Host({{"board": board()}}, store="sqlite:///{path}") as host:
        call = await call_tool(host, "board", "show", {{}}, conversation="c1")
        print(call.view, call.token, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

anyio.run(main)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.process
async def test_a_view_is_restored_with_its_data_after_the_host_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "views.db"
    code = KILLED_BETWEEN.format(tests=str(Path(__file__).parents[1]), path=path)
    done = await anyio.run_process([sys.executable, "-c", code], check=False)
    assert done.returncode == -9, done.stderr
    view, token = done.stdout.decode().split()
    async with Host({"board": board()}, store=f"sqlite:///{path}") as host:
        await host.servers.wait_until_settled()
        page = Page()
        await page.open(host, view, token)
        assert (await page.next())["type"] == "show"
        await page.ask("ui/initialize", HELLO, id=0)
        await page.say({"method": "ui/notifications/initialized"})
        assert (await page.message())["params"] == {"arguments": {}}
        assert (await page.message())["params"]["content"] == [{"type": "text", "text": "shown"}]
