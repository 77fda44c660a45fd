import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fanlight import Csp
from fanlight.host.store.base import StoredDocument
from fanlight.host.store.memory import MemoryStore
from fanlight.host.store.sqlite import SqliteStore
from fanlight.host.web.sandbox.document_cache import DocumentCache, served_document

pytestmark = pytest.mark.anyio

HTML = "<!doctype html><title>ä</title>" + "x" * 1000
ANCESTORS = ("http://localhost:8000", "http://sandbox.localhost:8000")
LABEL = "a" * 32


def test_a_document_is_served_unchanged_and_with_its_policy() -> None:
    document = served_document(LABEL, HTML, None, ["camera"], ANCESTORS)
    assert document.body.decode() == HTML
    assert gzip.decompress(document.compressed).decode() == HTML
    assert "connect-src 'none'" in document.headers["content-security-policy"]
    assert document.headers["permissions-policy"].startswith("camera=(self), microphone=()")
    assert document.headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in document.headers


def test_the_address_changes_with_content_policy_and_permissions() -> None:
    csp = Csp(connect_domains=["https://a.example"])
    addresses = {
        served_document(LABEL, HTML, None, [], ANCESTORS).address,
        served_document(LABEL, HTML + " ", None, [], ANCESTORS).address,
        served_document(LABEL, HTML, csp, [], ANCESTORS).address,
        served_document(LABEL, HTML, None, ["camera"], ANCESTORS).address,
        served_document(LABEL, HTML, None, [], ANCESTORS[:1]).address,
        served_document(LABEL, HTML, None, [], ANCESTORS, "compat").address,
    }
    assert len(addresses) == 6
    assert served_document(LABEL, HTML, None, [], ANCESTORS).address in addresses


async def test_a_document_is_found_only_at_its_own_app() -> None:
    documents = DocumentCache()
    document = await documents.serve(LABEL, HTML, None, (), ANCESTORS)
    assert document == served_document(LABEL, HTML, None, (), ANCESTORS)
    assert await documents.serve(LABEL, HTML, None, (), ANCESTORS) is document
    assert await documents.get(LABEL, document.address) is document
    assert await documents.get("b" * 32, document.address) is None
    assert await documents.get(LABEL, "x") is None


async def test_the_least_recently_used_document_is_discarded_first() -> None:
    one = served_document(LABEL, HTML + "0", None, (), ANCESTORS)
    documents = DocumentCache(max_bytes=2 * (len(one.body) + len(one.compressed)) + 50)
    one, two = [await documents.serve(LABEL, HTML + str(i), None, (), ANCESTORS) for i in range(2)]
    await documents.get(LABEL, one.address)
    await documents.serve(LABEL, HTML + "2", None, (), ANCESTORS)
    assert await documents.get(LABEL, two.address) is None
    assert await documents.get(LABEL, one.address) is one
    again = await documents.serve(LABEL, HTML + "1", None, (), ANCESTORS)
    assert await documents.get(LABEL, two.address) is again


DAY = 24 * 60 * 60.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


async def test_another_process_finds_a_document_in_the_store(tmp_path: Path) -> None:
    path = tmp_path / "host.db"
    document = await DocumentCache(SqliteStore(path)).serve(LABEL, HTML, None, ("camera",), ANCESTORS)
    other = DocumentCache(SqliteStore(path))
    assert await other.get("b" * 32, document.address) is None
    assert await other.get(LABEL, "0" * 64) is None
    found = await other.get(LABEL, document.address)
    assert found == document
    assert await other.get(LABEL, document.address) is found  # from memory
    assert await other.serve(LABEL, HTML, None, ("camera",), ANCESTORS) is found


async def test_a_document_in_the_store_expires_unless_it_is_served_again(tmp_path: Path) -> None:
    path, clock = tmp_path / "host.db", Clock()
    first = DocumentCache(SqliteStore(path), lifetime=DAY, clock=clock)

    async def found(address: str) -> bool:
        return await DocumentCache(SqliteStore(path), lifetime=DAY, clock=clock).get(LABEL, address) is not None

    once, often = [(await first.serve(LABEL, html, None, (), ANCESTORS)).address for html in (HTML, HTML + " ")]
    clock.now += 0.8 * DAY
    await first.serve(LABEL, HTML + " ", None, (), ANCESTORS)
    assert (await found(once), await found(often)) == (True, True)
    clock.now += 0.8 * DAY
    assert (await found(once), await found(often)) == (False, True)
    clock.now += 0.8 * DAY
    assert (await found(once), await found(often)) == (False, False)
    last = (await first.serve(LABEL, HTML + "  ", None, (), ANCESTORS)).address
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("select address from documents").fetchall() == [(last,)]


async def test_a_document_that_is_shown_often_is_not_written_each_time(tmp_path: Path) -> None:
    class Counting(SqliteStore):
        writes = 0

        async def add_document(self, document: StoredDocument) -> None:
            self.writes += 1

    store, clock = Counting(tmp_path / "host.db"), Clock()
    documents = DocumentCache(store, lifetime=DAY, clock=clock)
    for _ in range(10):
        await documents.serve(LABEL, HTML, None, (), ANCESTORS)
        clock.now += 0.04 * DAY
    assert store.writes == 1


async def test_a_store_in_memory_has_no_second_copy_of_a_document() -> None:
    store, clock = MemoryStore(), Clock()
    document = await DocumentCache(store, clock=clock).serve(LABEL, HTML, None, (), ANCESTORS)
    assert await store.document(LABEL, document.address, clock.now) is None


async def test_a_document_that_was_discarded_comes_from_the_store(tmp_path: Path) -> None:
    documents = DocumentCache(SqliteStore(tmp_path / "host.db"), max_bytes=1)
    first = await documents.serve(LABEL, HTML, None, (), ANCESTORS)
    await documents.serve(LABEL, HTML + " ", None, (), ANCESTORS)
    found = await documents.get(LABEL, first.address)
    assert found is not first
    assert found == first


async def test_the_documents_of_a_user_can_be_erased(tmp_path: Path) -> None:
    """Goes red without the user in `StoredDocument` or in `ServedDocument`."""
    store = SqliteStore(tmp_path / "host.db")
    documents = DocumentCache(store)
    alice, bob = [
        await documents.serve(label, HTML, None, (), ANCESTORS, user=user)
        for label, user in (("a" * 32, "alice"), ("b" * 32, "bob"))
    ]
    await store.erase_user("alice")
    assert await documents.get(alice.label, alice.address) is alice  # in memory
    documents.forget("alice")
    for cache in (documents, DocumentCache(store)):
        assert await cache.get(alice.label, alice.address) is None
        assert await cache.get(bob.label, bob.address) == bob
    again = await documents.serve(alice.label, HTML, None, (), ANCESTORS, user="alice")
    assert await DocumentCache(store).get(alice.label, again.address) == again


async def test_a_document_of_single_views_goes_with_the_last_of_them(tmp_path: Path) -> None:
    store, clock = SqliteStore(tmp_path / "host.db"), Clock()
    documents = DocumentCache(store, clock=clock)
    for view in ("v1", "v2"):
        own = await documents.serve(LABEL, HTML, None, (), ANCESTORS, view=view)
    other = await documents.serve(LABEL, HTML + "for all", None, (), ANCESTORS)

    async def found() -> list[bool]:
        places = (documents, DocumentCache(store, clock=clock))
        return [await place.get(LABEL, own.address) is not None for place in places]

    await documents.forget_views(["v1", "v3"])
    assert await found() == [True, True]
    await documents.forget_views(["v2"])
    assert await found() == [False, False]
    assert await documents.get(LABEL, other.address) is other
    assert (await documents.serve(LABEL, HTML, None, (), ANCESTORS, view="v4")).address == own.address
    assert await found() == [True, True]
