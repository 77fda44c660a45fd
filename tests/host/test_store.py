"""The file of the store in SQLite. What all stores do is in test_stores.py."""

import sqlite3
import sys
import threading
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.from_thread
import anyio.lowlevel
import pytest

from fanlight.host import Host
from fanlight.host.errors import StoreError
from fanlight.host.store.base import (
    AuditQuery,
    AuditRecord,
    Changed,
    Grant,
    Selection,
    UnfinishedCall,
    ViewRecord,
)
from fanlight.host.store.open import open_store
from fanlight.host.store.schema import MIGRATIONS
from fanlight.host.store.sqlite import SqliteStore
from fanlight.host.store.worker_thread import WorkerThread

pytestmark = pytest.mark.anyio

RECORD = ViewRecord("v1", "clock", "get_time", "ui://clock/view", conversation="c1", arguments={"zone": "Ö"})


@pytest.mark.parametrize("store", ["views.db", "sqlite:///", "mysql://x", ""])
def test_an_invalid_address_of_a_store_is_rejected(store: str) -> None:
    with pytest.raises(ValueError, match="sqlite:///path"):
        open_store(store)


UNVERSIONED = """
create table views (id text primary key, token text not null, server text not null,
 tool text not null, uri text not null, conversation text, arguments text, result text, cancelled text,
 context text, closed integer not null, seen integer not null, state text);
create index by_conversation on views (conversation, seen);
create index by_seen on views (seen);
create table grants (server text, uri text, kind text, key text, primary key (server, uri, kind, key)) without rowid;
create table pins (server text, uri text, sha256 text not null, primary key (server, uri)) without rowid;
create table audit (id integer primary key, time real not null, kind text not null,
 name text not null, outcome text not null, view text, server text, conversation text, by text,
 bytes_in integer, bytes_out integer, duration real, data text);
create index by_view on audit (view);
insert into views values ('v1', 'secret', 'clock', 'get_time', 'ui://clock/view', 'c1', '{"zone":"\u00d6"}', null, null,
 '{"content":[]}', 0, 1, '{"count":1}');
insert into grants values ('clock', 'ui://clock/view', 'tool', 'set_alarm');
insert into pins values ('clock', 'ui://clock/view', 'abc');
insert into audit values (1, 5.5, 'decision', 'tool', 'allowed', 'v1', 'clock', 'c1', 'user', 10, 20, 0.5, '{"a":1}');
"""
"""A database as Fanlight wrote it before it counted versions."""


def version_of(path: Path) -> int:
    database = sqlite3.connect(path)
    try:
        version: int = database.execute("pragma user_version").fetchone()[0]
        return version
    finally:
        database.close()


async def test_a_file_from_before_versions_were_counted_is_read_and_gets_a_version(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    database = sqlite3.connect(path)
    database.executescript(UNVERSIONED)
    database.close()
    assert version_of(path) == 0
    store = SqliteStore(path)
    record = replace(RECORD, context={"content": []}, state={"count": 1})
    grant = Grant("clock", "ui://clock/view", "tool", "set_alarm")
    audit = AuditRecord(5.5, "decision", "tool", "allowed", "v1", "clock", "c1", None, "user", 10, 20, 0.5, {"a": 1})
    assert await store.load("v1") == record
    assert await store.grants(None) == [grant]
    assert await store.pinned("clock", "ui://clock/view", None) == "abc"
    assert [record async for record in store.records(AuditQuery())] == [audit]
    assert await store.unfinished() == [UnfinishedCall("v1", None)]
    assert await store.change("v1", {"holder": "a", "shown": True}, {"holder": None, "caller": None}) == Changed("a")
    assert await store.change("v1", {"holder": None, "shown": False}, {"holder": "a", "shown": True}) == Changed(None)
    await store.add(replace(RECORD, id="v2"))
    await store.record([audit])
    await store.close()
    again = SqliteStore(path)
    assert (await again.load("v1"), await again.load("v2")) == (record, replace(RECORD, id="v2"))
    assert len([record async for record in again.records(AuditQuery())]) == 2
    await again.close()
    assert version_of(path) == len(MIGRATIONS)


async def test_a_file_of_a_newer_version_is_rejected_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    await SqliteStore(path).close()
    database = sqlite3.connect(path)
    database.execute("pragma user_version = 99")
    database.close()
    with pytest.raises(
        StoreError, match=rf"new\.db was written by a newer Fanlight: .* version 99, .* up to {len(MIGRATIONS)}\."
    ):
        SqliteStore(path)
    assert version_of(path) == 99


async def test_a_migration_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "views.db"
    await SqliteStore(path).close()
    steps = (*MIGRATIONS, ("alter table views add column added text", "this is not SQL"))
    monkeypatch.setattr("fanlight.host.store.schema.MIGRATIONS", steps)
    with pytest.raises(StoreError, match="syntax error"):
        SqliteStore(path)
    monkeypatch.undo()
    assert version_of(path) == len(MIGRATIONS)
    database = sqlite3.connect(path)
    columns = {row[1] for row in database.execute("pragma table_info(views)")}
    database.close()
    assert "added" not in columns


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
async def test_a_new_file_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "host.db"
    store = SqliteStore(path)
    await store.add(RECORD)
    assert {oct(file.stat().st_mode & 0o777) for file in tmp_path.iterdir()} == {"0o600"}
    await store.close()


async def test_what_is_erased_is_in_none_of_the_files(tmp_path: Path) -> None:
    """Goes red without `secure_delete`, and if the write-ahead log is left as it is."""
    store = SqliteStore(tmp_path / "host.db")
    for number in range(20):
        owned = replace(RECORD, id=f"v{number}", user="alice", arguments={"of": "alice-secret" * 50})
        await store.add(owned)
        await store.change(owned.id, {"context": {"content": ["alice-secret"]}})
    await store.set_credentials("alice", "crm", {"refresh_token": "alice-secret"})
    await store.record([AuditRecord(1.0, "message", "ping", "ok", user="alice", data={"of": "alice-secret"})])
    assert b"alice-secret" in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    await store.erase_views(Selection(user="alice"))
    await store.erase_user("alice")
    await store.erase_records(Selection(user="alice"), None)
    assert b"alice" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    await store.close()


def test_a_sqlite_file_in_a_folder_that_is_missing_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"missing/x\.db: unable to open .* There is no folder '.*missing': create it"):
        Host({}, store=f"sqlite:///{tmp_path}/missing/x.db")


def test_a_file_that_is_not_a_database_is_a_store_error_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Buy milk. " * 100, encoding="utf-8")
    with pytest.raises(StoreError, match=r"notes\.txt: file is not a database\."):
        Host({}, store=f"sqlite:///{path}")
    assert path.read_text(encoding="utf-8") == "Buy milk. " * 100


async def test_the_store_runs_one_call_at_a_time_and_finishes_it_although_its_caller_was_cancelled() -> None:
    """Goes red if a cancelled caller leaves before its call has ended: a write would then seem not to be made."""
    thread = WorkerThread("test")
    ended: list[str] = []
    began, may_end = anyio.Event(), threading.Event()

    def slow() -> None:
        anyio.from_thread.run_sync(began.set, token=token)
        may_end.wait(30)
        ended.append("slow")

    async def call() -> None:
        await thread.run(slow)
        ended.append("after slow")

    token = anyio.lowlevel.current_token()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        with anyio.fail_after(30):
            await began.wait()
        tasks.cancel_scope.cancel()
        may_end.set()
    assert ended[0] == "slow"
    with pytest.raises(ZeroDivisionError):
        await thread.run(lambda: 1 / 0)
    assert await thread.run(len, "abc") == 3
    thread.stop()
    thread.stop()
