from dataclasses import replace
from pathlib import Path

import pytest

from fanlight.host.store import SqliteStore, ViewRecord, open_store

RECORD = ViewRecord("v1", "secret", "clock", "get_time", "ui://clock/view", conversation="c1", arguments={"zone": "Ö"})


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    path = f"sqlite:///{tmp_path / 'views.db'}"
    store = open_store(path)
    store.save(RECORD)
    changed = replace(RECORD, result={"content": [{"type": "text", "text": "😀"}]}, context={"content": []})
    store.save(changed)
    store.close()
    again = open_store(path)
    assert again.load("v1") == changed
    assert again.load("nothing") is None
    again.close()


def test_records_of_a_conversation_come_in_the_order_they_were_first_seen() -> None:
    store = SqliteStore()
    for id, conversation in (("b", "c1"), ("a", "c1"), ("x", "c2"), ("n", None)):
        store.save(replace(RECORD, id=id, conversation=conversation))
    store.save(replace(RECORD, id="b", closed=True))
    assert [record.id for record in store.of_conversation("c1")] == ["b", "a"]
    assert [record.id for record in store.of_conversation(None)] == ["n"]
    assert store.of_conversation("c1")[0].closed is True


@pytest.mark.parametrize("store", ["views.db", "sqlite:///", "postgres://x", ""])
def test_an_address_that_names_no_store_is_refused(store: str) -> None:
    with pytest.raises(ValueError, match="sqlite:///path"):
        open_store(store)


def test_hostile_text_stays_text() -> None:
    store = SqliteStore()
    odd = replace(RECORD, id="'; drop table views; --", tool='"', cancelled="\0\u2028")
    store.save(odd)
    assert store.load(odd.id) == odd
