from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fanlight.host.store.base import ViewRecord
from fanlight.host.store.open import open_store
from fanlight.host.store.sqlite import SqliteStore

RECORD = ViewRecord("v1", "secret", "clock", "get_time", "ui://clock/view", conversation="c1", arguments={"zone": "Ö"})


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    path = f"sqlite:///{tmp_path / 'views.db'}"
    store = open_store(path)
    store.add(RECORD)
    changes: dict[str, Any] = {
        "result": {"content": [{"type": "text", "text": "😀\ud800"}], "n": 2**70},
        "context": {"content": []},
    }
    store.change("v1", changes)
    store.change("nothing", changes)
    store.close()
    again = open_store(path)
    assert again.load("v1") == replace(RECORD, **changes)
    assert again.load("nothing") is None
    again.close()


def test_what_views_told_the_model_comes_in_the_order_in_which_they_were_added() -> None:
    store = SqliteStore()
    for id, conversation in (("b", "c1"), ("a", "c1"), ("x", "c2"), ("n", None), ("silent", "c1"), ("closed", "c1")):
        store.add(replace(RECORD, id=id, conversation=conversation))
    for id in ("a", "n", "b", "closed"):
        store.change(id, {"context": {"of": id}})
    store.change("closed", {"closed": True})
    assert store.contexts("c1") == [("b", "clock", {"of": "b"}), ("a", "clock", {"of": "a"})]
    assert store.contexts(None) == [("n", "clock", {"of": "n"})]


def test_only_what_a_record_has_can_be_changed() -> None:
    with pytest.raises(ValueError, match="no closed = 1 --"):
        SqliteStore().change("v1", {"closed = 1 --": 2})


@pytest.mark.parametrize("store", ["views.db", "sqlite:///", "postgres://x", ""])
def test_an_address_that_names_no_store_is_refused(store: str) -> None:
    with pytest.raises(ValueError, match="sqlite:///path"):
        open_store(store)


def test_hostile_text_stays_text() -> None:
    store = SqliteStore()
    odd = replace(RECORD, id="'; drop table views; --", tool='"', cancelled="\0\u2028")
    store.add(odd)
    assert store.load(odd.id) == odd
