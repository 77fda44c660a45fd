"""What every store does: the same tests with memory, SQLite, PostgreSQL and Redis, each of them real."""

import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from fanlight.host import (
    AuditQuery,
    AuditRecord,
    Grant,
    Host,
    MemoryStore,
    PostgresStore,
    RedisStore,
    Store,
    StoreError,
    ViewRecord,
)
from fanlight.host.store.base import Changed, ErasedView, OfferedTools, Selection, StoredDocument, UnfinishedCall
from fanlight.host.store.open import open_store
from fanlight.protocol.errors import ArgumentError
from support.databases import PostgresServer, RedisServer

pytestmark = pytest.mark.anyio

RECORD = ViewRecord("v1", "clock", "get_time", "ui://clock/view", conversation="c1", arguments={"zone": "Ö"})
AUDIT = AuditRecord(5.5, "decision", "tool", "allowed", "v1", "clock", "c1", "alice", "user", 10, 20, 0.5, {"a": 1})
NOW = 4_000_000_000.0  # far ahead, because Redis removes by its own clock what has expired

SHARED = [
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.process),
    pytest.param("redis", marks=pytest.mark.process),
]

OpenStore = Callable[[], Store]


@pytest.fixture(params=SHARED)
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OpenStore]:
    """Opens stores that share their data, as several processes would. They are empty at first."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'host.db'}"
    else:
        server = request.getfixturevalue(f"{request.param}_server")
        server.clear()
        url = server.url
    stores: list[Store] = []

    def open_one() -> Store:
        stores.append(open_store(url))
        return stores[-1]

    yield open_one
    for store in stores:
        await store.close()


@pytest.fixture(params=["memory", *SHARED])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
        return
    if request.param == "sqlite":
        opened = open_store(f"sqlite:///{tmp_path / 'host.db'}")
    else:
        server = request.getfixturevalue(f"{request.param}_server")
        server.clear()
        opened = open_store(server.url)
    yield opened
    await opened.close()


async def all_records(store: Store, **query: Any) -> list[AuditRecord]:
    return [record async for record in store.records(AuditQuery(**query))]


async def test_a_record_is_loaded_as_it_was_stored(opened: OpenStore) -> None:
    store = opened()
    await store.add(RECORD)
    changes: dict[str, Any] = {
        "result": {"content": [{"type": "text", "text": "😀\ud800\0"}], "n": 2**70},
        "context": {"content": []},
        "context_is_new": True,
        "state": 0,
    }
    await store.change("v1", changes)
    await store.change("nothing", changes)
    await store.close()
    again = opened()
    assert await again.load("v1") == replace(RECORD, **changes)
    assert await again.load("nothing") is None
    await store.change("v1", {"context": None})  # the one that was closed opens its connection again
    assert await again.load("v1") == replace(RECORD, **{**changes, "context": None})


async def test_hostile_text_stays_text(store: Store) -> None:
    odd = replace(
        RECORD, id="'; drop table views; --", tool='"', server="a:b*?%s", cancelled="\0\u2028\ue000\ue0000", created=0.1
    )
    await store.add(odd)
    assert await store.load(odd.id) == odd


async def test_only_fields_of_a_record_can_be_changed(store: Store) -> None:
    with pytest.raises(ValueError, match=r"changes has closed = 1 --, expected fields of ViewRecord: id, server"):
        await store.change("v1", {"closed = 1 --": 2})


async def test_views_and_contexts_are_those_of_one_conversation_of_one_user(store: Store) -> None:
    owners = [(None, None), (None, "c1"), ("alice", None), ("alice", "c1"), ("bob", "c1"), ("alice", "c2")]
    for number, (user, conversation) in enumerate(owners):
        await store.add(replace(RECORD, id=f"v{number}", user=user, conversation=conversation, created=float(number)))
        await store.change(f"v{number}", {"context": {"of": number}, "context_is_new": number % 2 == 0})
    for number, (user, conversation) in enumerate(owners):
        (view,) = await store.views(user, conversation)
        assert view == (
            f"v{number}", "clock", "get_time", "ui://clock/view", conversation, user, float(number), "running", False,
            None, False,
        )  # fmt: skip
        assert await store.contexts(user, conversation) == [
            (f"v{number}", "clock", "get_time", {"of": number}, number % 2 == 0)
        ]


async def test_views_are_returned_in_the_order_in_which_they_were_added(store: Store) -> None:
    for id in ("b", "a", "closed", "d", "c"):
        await store.add(replace(RECORD, id=id))
    await store.change("closed", {"closed": True})
    await store.change("a", {"result": {"content": []}})
    await store.change("c", {"cancelled": ""})
    await store.change("d", {"context": {"of": "d"}})
    await store.change("b", {"context": {"of": "b"}})
    views = await store.views(None, "c1")
    assert [(view.id, view.call) for view in views] == [
        ("b", "running"),
        ("a", "done"),
        ("d", "running"),
        ("c", "cancelled"),
    ]
    assert [context.view for context in await store.contexts(None, "c1")] == ["b", "d"]


async def test_unfinished_views_are_those_without_an_outcome(store: Store) -> None:
    for id in ("running", "done", "cancelled", "closed"):
        await store.add(replace(RECORD, id=id))
    await store.add(replace(RECORD, id="added-done", result={"content": []}))
    await store.change("running", {"arguments": {}})
    await store.change("done", {"result": {}})
    await store.change("cancelled", {"cancelled": ""})
    await store.change("closed", {"closed": True})
    assert await store.unfinished() == [UnfinishedCall("running", None)]


# Workers


async def test_a_change_with_a_condition_is_made_only_while_the_condition_holds(store: Store) -> None:
    """Goes red if a store ignores `only_if`, or changes something although it returns None."""
    await store.add(RECORD)
    assert await store.change("v1", {"holder": "a", "shown": True}, {"holder": None}) == Changed("a")
    assert await store.change("v1", {"holder": "b"}, {"holder": None}) is None
    assert await store.change("v1", {"holder": "b"}, {"holder": "c"}) is None
    assert await store.change("v1", {"state": 1}, {"holder": "a", "result": {}}) is None
    assert await store.load("v1") == replace(RECORD, holder="a", shown=True)
    assert await store.change("v1", {"result": {"n": 1}}, {"caller": None, "result": None}) == Changed("a")
    assert await store.change("v1", {"cancelled": ""}, {"result": None}) is None
    assert await store.change("v1", {"state": 2}, {"result": {"n": 1}, "shown": True}) == Changed("a")
    assert await store.change("v1", {"holder": None}, {"holder": "a"}) == Changed(None)
    assert await store.change("nothing", {"holder": "a"}, {"holder": None}) is None
    assert await store.change("nothing", {"holder": "a"}) is None
    assert await store.load("v1") == replace(RECORD, shown=True, result={"n": 1}, state=2)


async def test_only_fields_of_a_record_can_be_conditions(store: Store) -> None:
    with pytest.raises(ValueError, match="expected fields of ViewRecord"):
        await store.change("v1", {"state": 1}, {"1 = 1 or id": 2})


async def test_of_two_workers_that_claim_a_view_at_once_exactly_one_wins(opened: OpenStore) -> None:
    """Goes red if a store reads the condition and writes the change in two steps."""
    first, second = opened(), opened()
    for number in range(20):
        await first.add(replace(RECORD, id=f"v{number}"))
    winners: dict[str, list[str]] = {f"v{number}": [] for number in range(20)}

    async def claim(store: Store, id: str, worker: str) -> None:
        changed = await store.change(id, {"holder": worker}, {"holder": None})
        if changed is not None:
            assert changed.holder == worker
            winners[id].append(worker)

    async with anyio.create_task_group() as tasks:
        for id in winners:
            for store, worker in ((first, "a"), (second, "b"), (first, "c"), (second, "d")):
                tasks.start_soon(claim, store, id, worker)
    for id, names in winners.items():
        assert len(names) == 1
        record = await second.load(id)
        assert record is not None
        assert record.holder == names[0]


async def test_a_change_returns_the_holder_so_that_the_caller_knows_which_worker_to_notify(opened: OpenStore) -> None:
    caller, holder = opened(), opened()
    await caller.add(replace(RECORD, caller="a"))
    running = {"caller": "a", "result": None, "cancelled": None}
    assert await caller.change("v1", {"arguments": {}}, running) == Changed(None)
    await holder.change("v1", {"holder": "b"}, {"holder": None})
    assert await caller.change("v1", {"result": {}}, running) == Changed("b")
    assert await caller.change("v1", {"result": {"again": True}}, running) is None


async def test_each_context_is_taken_once(opened: OpenStore) -> None:
    """Goes red if a store reads the contexts and marks them as given in two steps."""
    first, second = opened(), opened()
    for number in range(10):
        await first.add(replace(RECORD, id=f"v{number}", user="alice"))
        await first.change(f"v{number}", {"context": {"of": number}, "context_is_new": True})
    await first.change("v3", {"closed": True})
    await first.change("v4", {"context": None})
    await first.change("v5", {"context_is_new": False})
    assert await first.take_contexts("bob", "c1") == []
    assert await first.take_contexts("alice", None) == []
    taken: list[str] = []

    async def take(store: Store) -> None:
        found = await store.take_contexts("alice", "c1")
        assert [each.view for each in found] == sorted(each.view for each in found)
        assert all(each.is_new and each.context == {"of": int(each.view[1:])} for each in found)
        taken.extend(each.view for each in found)

    async with anyio.create_task_group() as tasks:
        for store in (first, second, first, second):
            tasks.start_soon(take, store)
    assert sorted(taken) == ["v0", "v1", "v2", "v6", "v7", "v8", "v9"]
    assert [each.view for each in await second.contexts("alice", "c1") if each.is_new] == []
    await second.change("v1", {"context": {"of": "more"}, "context_is_new": True})
    assert await first.take_contexts("alice", "c1") == [("v1", "clock", "get_time", {"of": "more"}, True)]


async def test_offered_tools_are_those_of_shown_views_with_a_holder(store: Store) -> None:
    tools = [{"name": "wave", "description": "\0Ö"}]
    offering: dict[str, Any] = {"holder": "a", "shown": True, "tools": tools}
    changes: dict[str, dict[str, Any]] = {
        "second": {},
        "first": {"holder": "b", "tools": []},
        "without holder": {"holder": None},
        "not shown": {"shown": False},
        "without tools": {"tools": None},
        "closed": {"closed": True},
    }
    for id in ("first", *(id for id in changes if id != "first")):
        await store.add(replace(RECORD, id=id, user="alice"))
        await store.change(id, {**offering, **changes[id]})
    await store.add(replace(RECORD, id="of bob", user="bob", **offering))
    assert await store.offered_tools("alice", "c1") == [
        OfferedTools("first", "clock", "b", []),
        OfferedTools("second", "clock", "a", tools),
    ]
    assert await store.offered_tools("alice", "c2") == []
    assert [(view.id, view.holder, view.shown) for view in await store.views("bob", "c1")] == [("of bob", "a", True)]


async def test_unfinished_calls_have_the_worker_that_runs_them(store: Store) -> None:
    for id, caller in (("of a", "a"), ("of b", "b"), ("of none", None), ("done", "a")):
        await store.add(replace(RECORD, id=id, caller=caller))
    await store.change("done", {"result": {}}, {"caller": "a"})
    assert sorted(await store.unfinished(), key=lambda call: call.view) == [
        UnfinishedCall("of a", "a"),
        UnfinishedCall("of b", "b"),
        UnfinishedCall("of none", None),
    ]


async def test_a_payload_is_taken_once_and_not_after_it_expired(store: Store) -> None:
    """Goes red if a payload that expired can still be taken."""
    body = b"\0\xff" * 50_000
    await store.put_payload("kept", body, time.time() + 1000)
    await store.put_payload("expired", b"x", time.time() - 1000)
    assert await store.take_payload("expired") is None
    assert await store.take_payload("unknown") is None
    assert await store.take_payload("kept") == body
    assert await store.take_payload("kept") is None


async def test_a_payload_replaces_the_one_before_it(store: Store) -> None:
    for body in (b"one", b"two"):
        await store.put_payload("key", body, time.time() + 60)
    assert await store.take_payload("key") == b"two"


async def test_of_two_workers_that_take_a_payload_at_once_exactly_one_gets_it(opened: OpenStore) -> None:
    first, second = opened(), opened()
    for number in range(20):
        await first.put_payload(str(number), b"x", time.time() + 1000)
    taken: list[str] = []

    async def take(store: Store, key: str) -> None:
        if await store.take_payload(key) is not None:
            taken.append(key)

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            for store in (first, second):
                tasks.start_soon(take, store, str(number))
    assert sorted(taken) == sorted(map(str, range(20)))


async def test_erasing_views_returns_the_workers_that_have_their_sessions(store: Store) -> None:
    for id, holder in (("v1", "a"), ("v2", "b"), ("v3", None), ("kept", "a")):
        await store.add(replace(RECORD, id=id, user="alice", created=1.0, holder=holder))
    await store.add(replace(RECORD, id="of c", user="alice", created=1.0, holder="c"))
    selection = Selection(user="alice", keep=frozenset({"kept"}), keep_held_by=frozenset({"c", "d"}))
    erased = await store.erase_views(selection)
    assert sorted(erased, key=lambda each: each.view) == [("v1", "a"), ("v2", "b"), ("v3", None)]
    assert await store.change("v1", {"state": 1}, {"holder": "a"}) is None
    assert await store.load("v1") is None
    assert sorted(await store.unfinished(), key=lambda call: call.view) == [("kept", None), ("of c", None)]


async def test_a_token_is_of_one_view_until_it_expires(store: Store) -> None:
    await store.add_token("digest", "v1", NOW)
    await store.add_token("other", "v1", NOW + 5)
    assert await store.has_token("digest", "v1", NOW - 1)
    assert not await store.has_token("digest", "v1", NOW)
    assert not await store.has_token("digest", "v2", NOW - 1)
    assert not await store.has_token("unknown", "v1", NOW - 1)
    await store.add_token("digest", "v1", NOW + 10)
    assert await store.has_token("digest", "v1", NOW + 9)


async def test_grants_are_kept_by_user(store: Store) -> None:
    run, link = Grant("clock", "ui://clock/view", "tool", "set"), Grant("clock", "ui://clock/view", "link", "a.example")
    for grant in (run, run, link, replace(run, user="alice"), replace(run, user="bob")):
        await store.grant(grant)
    assert await store.grants(None) == [link, run]
    assert await store.grants("alice") == [replace(run, user="alice")]
    assert await store.is_granted(replace(run, user="bob"))
    assert not await store.is_granted(replace(link, user="bob"))
    assert not await store.is_granted(replace(run, key="other"))
    await store.revoke(replace(run, user="alice"))
    await store.revoke(replace(run, user="alice"))
    assert (await store.grants("alice"), len(await store.grants("bob"))) == ([], 1)


async def test_pins_and_credentials_are_kept_by_user(store: Store) -> None:
    for user in (None, "alice"):
        await store.pin("clock", "ui://clock/view", "old", user)
        await store.pin("clock", "ui://clock/view", f"of {user}", user)
    assert await store.pinned("clock", "ui://clock/view", None) == "of None"
    assert await store.pinned("clock", "ui://clock/view", "alice") == "of alice"
    assert await store.pinned("clock", "ui://clock/view", "bob") is None
    assert await store.pinned("clock", "ui://other", "alice") is None
    await store.set_credentials("alice", "crm", {"token": "old"})
    await store.set_credentials("alice", "crm", {"token": "new"})
    assert await store.credentials("alice", "crm") == {"token": "new"}
    assert await store.credentials("bob", "crm") is None
    assert await store.credentials("alice", "clock") is None


async def test_processes_that_share_a_store_share_its_secret(opened: OpenStore) -> None:
    secrets = [await opened().secret() for _ in range(3)]
    assert len(set(secrets)) == 1
    assert len(secrets[0]) == 64


@pytest.mark.parametrize("imitation", ["#", "\ue000", "alice:x", "alice bob"])
async def test_no_user_can_choose_a_name_that_reaches_the_data_of_another(store: Store, imitation: str) -> None:
    """Goes red if a key of Redis is built from names without hashing those that are not plain."""
    names = ["alice", "views", "of", f"grants:{imitation}", imitation, "number", "a" * 64, "a" * 65]
    for name in names:
        await store.pin(name, "ui://view", name, name)
        await store.grant(Grant("crm", "ui://crm", "tool", name, name))
        await store.add(replace(RECORD, id=f"view of {name}", user=name, conversation=name))
    for name in names:
        assert await store.pinned(name, "ui://view", name) == name
        assert [grant.key for grant in await store.grants(name)] == [name]
        assert [view.id for view in await store.views(name, name)] == [f"view of {name}"]


async def test_a_document_is_kept_until_it_expires(opened: OpenStore) -> None:
    store, other = opened(), opened()
    document = StoredDocument("a" * 32, "b" * 64, b"\x1f\x8b\0\xff", {"etag": '"x"'}, NOW, "alice")
    await store.add_document(document)
    assert await other.document("a" * 32, "b" * 64, NOW) == document
    assert await other.document("a" * 32, "c" * 64, NOW) is None
    assert await other.document("a" * 32, "b" * 64, NOW + 1) is None
    await store.add_document(document._replace(expires=NOW + 10))
    await store.remove_documents(NOW + 5)
    assert await other.document("a" * 32, "b" * 64, NOW + 9) == document._replace(expires=NOW + 10)
    await store.remove_documents(NOW + 11)
    assert await other.document("a" * 32, "b" * 64, NOW) is None


async def test_audit_records_are_found_by_each_field_of_a_query(store: Store) -> None:
    records = [
        AUDIT._replace(time=float(i), view=f"v{i % 2}", user="alice" if i % 3 else None, data={"n": "\0", "i": i})
        for i in range(1200)
    ]
    for start in range(0, 1200, 300):
        await store.record(records[start : start + 300])
    assert await all_records(store) == records
    assert await all_records(store, view="v1") == records[1::2]
    assert await all_records(store, user="alice", view="v0") == [each for each in records[::2] if each.user]
    assert [each.time for each in await all_records(store, since=10, until=13)] == [10, 11, 12]
    assert [each.time for each in await all_records(store, view="v0", limit=3)] == [0, 2, 4]
    assert len(await all_records(store, conversation="c1", limit=1100)) == 1100
    for nothing in ({"kind": "message"}, {"name": "x"}, {"server": "x"}, {"user": "bob"}, {"conversation": "c2"}):
        assert await all_records(store, **nothing) == []
    assert await all_records(store, limit=0) == []


async def test_erasing_a_user_leaves_the_others(store: Store) -> None:
    for user in ("alice", "bob"):
        await store.add(replace(RECORD, id=f"of {user}", user=user, created=100.0))
        await store.add_token(f"token of {user}", f"of {user}", NOW)
        await store.grant(Grant("clock", "ui://clock/view", "tool", "set", user))
        await store.pin("clock", "ui://clock/view", "abc", user)
        await store.set_credentials(user, "crm", {})
        await store.add_document(StoredDocument(user, "b" * 64, b"x", {}, NOW, user))
        await store.record([AUDIT._replace(user=user)])
    assert await store.erase_views(Selection(user="alice")) == [ErasedView("of alice", None)]
    await store.erase_user("alice")
    await store.erase_records(Selection(user="alice"), None)
    assert await store.load("of alice") is None
    assert await store.views("alice", "c1") == []
    assert not await store.has_token("token of alice", "of alice", NOW - 1)
    assert await store.grants("alice") == []
    assert await store.pinned("clock", "ui://clock/view", "alice") is None
    assert await store.credentials("alice", "crm") is None
    assert await store.document("alice", "b" * 64, NOW) is None
    assert await all_records(store, user="alice") == []
    assert [view.id for view in await store.views("bob", "c1")] == ["of bob"]
    assert await store.has_token("token of bob", "of bob", NOW - 1)
    assert len(await store.grants("bob")) == 1
    assert await store.pinned("clock", "ui://clock/view", "bob") == "abc"
    assert await store.credentials("bob", "crm") == {}
    assert [record.user for record in await all_records(store)] == ["bob"]
    assert await store.unfinished() == [UnfinishedCall("of bob", None)]


async def test_what_is_erased_is_selected_by_conversation_and_age(store: Store) -> None:
    for number in range(6):
        owner: dict[str, Any] = {"user": "alice" if number % 2 else "bob", "conversation": f"c{number % 3}"}
        await store.add(replace(RECORD, id=f"v{number}", created=float(number), **owner))
        await store.record([AUDIT._replace(time=float(number), **owner)])
    assert await store.erase_views(Selection()) == []
    await store.erase_records(Selection(), None)
    assert len(await all_records(store)) == 6
    assert sorted(await store.erase_views(Selection(conversation="c1"))) == [("v1", None), ("v4", None)]
    assert await store.erase_views(Selection(user="alice", conversation="c0")) == [ErasedView("v3", None)]
    assert await store.erase_views(Selection(before=3.0, keep=frozenset({"v2"}))) == [ErasedView("v0", None)]
    await store.erase_records(Selection(user="alice", conversation="c0"), None)
    await store.erase_records(Selection(before=2.0), None)
    assert [record.time for record in await all_records(store)] == [2, 4, 5]


async def test_a_pseudonym_replaces_the_user_and_erases_the_data(store: Store) -> None:
    await store.record([AUDIT, AUDIT._replace(user="bob")])
    await store.erase_records(Selection(user="alice"), "erased-1")
    assert await all_records(store) == [AUDIT._replace(user="erased-1", data=None), AUDIT._replace(user="bob")]
    assert await all_records(store, user="alice") == []
    assert await all_records(store, user="erased-1") == [AUDIT._replace(user="erased-1", data=None)]


async def test_several_tasks_can_use_a_store_at_once(store: Store) -> None:
    async def add(number: int) -> None:
        await store.add(replace(RECORD, id=f"v{number}"))
        await store.record([AUDIT._replace(name=str(number))])
        await store.change(f"v{number}", {"state": number})

    async with anyio.create_task_group() as tasks:
        for number in range(30):
            tasks.start_soon(add, number)
    assert len(await store.views(None, "c1")) == 30
    assert {record.name for record in await all_records(store)} == set(map(str, range(30)))


@pytest.mark.process
@pytest.mark.parametrize("kind", ["redis", "postgres"])
async def test_a_server_that_was_restarted_is_used_again(kind: str, request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue(f"{kind}_server")
    server.clear()
    store = open_store(server.url)
    await store.add(RECORD)
    server.stop(kill=True)
    with anyio.fail_after(60), pytest.raises(StoreError):
        await store.load("v1")
    server.start()
    with anyio.fail_after(60):
        while True:
            try:
                assert await store.load("v1") == RECORD
                break
            except StoreError:
                await anyio.sleep(0.2)
    await store.close()


@pytest.mark.process
async def test_programs_share_a_database_of_redis_with_namespaces_of_their_own(redis_server: RedisServer) -> None:
    redis_server.clear()
    stores = [open_store(url) for url in (redis_server.url, f"{redis_server.url}?namespace=chat")]
    await stores[0].add(RECORD)
    await stores[0].grant(Grant("clock", "ui://clock/view", "tool", "x", "alice"))
    assert await stores[1].load("v1") is None
    assert await stores[1].grants("alice") == []
    assert await stores[0].secret() != await stores[1].secret()
    for store in stores:
        await store.close()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("redis://:pa/ss@host:6379/0", r"redis://\.\.\. has a user name or a password with a character that ends it"),
        ("redis://:pa?ss@host:6379/0", "a character that ends it"),
        ("redis://:pa#ss@host:6379/0", "a character that ends it"),
        ("redis://:p@a/ss@host:6379/0", "a character that ends it"),
        ("postgresql://chat:pa/ss@host/chat", r"postgresql://\.\.\. has a user name or a password"),
        ("redis://:pass@host:6379/chat", "has the path '/chat', expected the number of a database"),
        ("redis://:pass@host:port/0", "is not a URL of Redis"),
        ("redis://host:6379/0?namespace=a:b", "namespace is 'a:b', expected up to 64 letters"),
        ("postgresql://chat:pass@[host/chat", "is not one of PostgreSQL"),
    ],
)
def test_a_wrong_url_is_an_error_without_its_password(url: str, message: str) -> None:
    for option in ("store", "bus") if url.startswith("redis") else ("store",):
        with pytest.raises(ArgumentError, match=message) as error:
            Host({}, **{"store": "sqlite:///x.db", option: url})  # type: ignore[arg-type]
        for secret in ("pass", "pa/", "ss@", "pa?", "pa#"):
            assert secret not in str(error.value).replace("password", "").replace("passed", "")


def test_a_url_with_an_escaped_password_is_accepted() -> None:
    assert RedisStore("redis://:p%2Fa%40ss@host:6379/0?health_check_interval=5")._url.startswith("redis://:p%2Fa%40ss@")
    assert PostgresStore("postgresql://chat:p%2Fass@host/chat?application_name=a@b")._password == "p/ass"


@pytest.mark.process
async def test_an_error_of_postgresql_has_the_cause_and_no_password(postgres_server: PostgresServer) -> None:
    """Goes red if the cause is in the log of the pool only."""
    address = postgres_server.url.partition("@")[2]
    store = PostgresStore(f"postgresql://nobody:sesame@{address}", timeout=5)
    with pytest.raises(StoreError, match=r'^PostgreSQL: .*role "nobody" does not exist\.$') as error:
        await store.load("v1")
    assert "sesame" not in str(error.value)
    await store.close()


@pytest.mark.process
async def test_an_error_of_postgresql_has_the_cause_after_it_worked(postgres_server: PostgresServer) -> None:
    store = PostgresStore(postgres_server.url, timeout=2)
    await store.load("v1")
    postgres_server.stop(kill=True)
    try:
        with anyio.fail_after(60):
            while True:  # the server's process for this connection may answer once more
                try:
                    await store.load("v1")
                except StoreError as error:
                    if "refused" in str(error):
                        break
    finally:
        postgres_server.start()
    await store.close()


@pytest.mark.parametrize("url", ["postgresql://127.0.0.1:1/x", "redis://127.0.0.1:1/0"])
async def test_a_server_that_is_not_there_is_an_error_that_names_it(url: str) -> None:
    store: Store = RedisStore(url, timeout=1) if url.startswith("redis") else PostgresStore(url, timeout=1)
    with anyio.fail_after(30), pytest.raises(StoreError, match=r"^(PostgreSQL: .*refused|Redis: .*:1).*[^.?][.?]$"):
        await store.load("v1")
    await store.close()
