"""Where uploads are stored: for whom, how many, for how long."""

import threading
from pathlib import Path
from typing import Any

import pytest

from fanlight import ArgumentError, RegistrationError
from fanlight.show import UploadStorage
from fanlight.show.files.limits import FileLimits
from fanlight.show.files.storage import Storage

ALICE, BOB = ("user", "alice"), ("user", "bob")
ANY = FileLimits(max_bytes=1_000)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def begin(storage: Storage, owner: Any = ALICE, name: str = "a.csv", size: int = 4, limits: FileLimits = ANY) -> str:
    return storage.begin("tool", limits, owner, name, size, "")


def files_of(storage: Storage) -> list[Path]:
    assert storage._folder is not None
    return [path for path in storage._folder.path.iterdir() if path.name != ".lock"]


def test_a_complete_upload_is_handed_over_once_and_then_removed() -> None:
    storage = Storage(UploadStorage())
    id = begin(storage)
    assert storage.write(id, ALICE, 0, b"ab") == 2
    assert storage.write(id, ALICE, 2, b"cd") == 4
    with storage.take([id], "tool", ALICE) as (file,):
        assert (file.name, file.size, file.type) == ("a.csv", 4, "text/csv")
        assert file.path.suffix == ".csv"
        assert file.path.stat().st_mode & 0o077 == 0
        with file.open() as stream:
            assert stream.read() == b"abcd"
        with pytest.raises(ArgumentError, match="no longer on the server"), storage.take([id], "tool", ALICE):
            pass
    assert files_of(storage) == []


def test_a_part_that_arrives_twice_does_no_harm() -> None:
    storage = Storage(UploadStorage())
    id = begin(storage)
    storage.write(id, ALICE, 0, b"ab")
    assert storage.write(id, ALICE, 0, b"ab") == 2
    storage.write(id, ALICE, 2, b"cd")
    with storage.take([id], "tool", ALICE) as (file,):
        assert file.path.read_bytes() == b"abcd"


def test_a_part_out_of_order_or_beyond_the_end_is_refused() -> None:
    storage = Storage(UploadStorage())
    id = begin(storage)
    with pytest.raises(ArgumentError, match="begins at byte 3, and 0 bytes have arrived"):
        storage.write(id, ALICE, 3, b"d")
    with pytest.raises(ArgumentError, match="was announced with 4 bytes, and more have arrived"):
        storage.write(id, ALICE, 0, b"abcde")
    with pytest.raises(ArgumentError, match="is not complete: 0 of 4 bytes"), storage.take([id], "tool", ALICE):
        pass


def test_the_id_of_another_caller_does_nothing() -> None:
    storage = Storage(UploadStorage())
    id = begin(storage)
    storage.write(id, ALICE, 0, b"abcd")
    for other in (BOB, None):
        assert storage.received(id, other) is None
        assert storage.write(id, other, 0, b"evil") is None
        storage.cancel(id, other)
        with pytest.raises(ArgumentError, match="no longer on the server"), storage.take([id], "tool", other):
            pass
    with storage.take([id], "tool", ALICE) as (file,):
        assert file.path.read_bytes() == b"abcd"


def test_an_upload_to_one_target_is_not_handed_to_another() -> None:
    storage = Storage(UploadStorage())
    id = begin(storage, size=0)
    with pytest.raises(ArgumentError, match="no longer on the server"), storage.take([id], "other", ALICE):
        pass


def test_a_file_is_removed_when_it_is_cancelled_or_its_function_fails() -> None:
    storage = Storage(UploadStorage())
    storage.cancel(begin(storage), ALICE)
    assert files_of(storage) == []
    with pytest.raises(KeyError), storage.take([begin(storage, size=0)], "tool", ALICE):
        raise KeyError
    assert files_of(storage) == []


def test_an_upload_expires_after_its_last_part() -> None:
    clock = Clock()
    storage = Storage(UploadStorage(seconds=10), clock)
    id = begin(storage)
    clock.now = 8
    storage.write(id, ALICE, 0, b"ab")
    clock.now = 16
    assert storage.received(id, ALICE) == 2
    clock.now = 27
    assert storage.received(id, ALICE) is None
    assert files_of(storage) == []


def test_a_file_does_not_expire_while_its_function_runs() -> None:
    clock = Clock()
    storage = Storage(UploadStorage(seconds=10), clock)
    with storage.take([begin(storage, size=0)], "tool", ALICE) as (file,):
        clock.now = 100
        begin(storage)
        assert file.path.exists()


def test_an_upload_expires_even_if_no_further_request_comes() -> None:
    clock = Clock()
    storage = Storage(UploadStorage(seconds=10), clock)
    begin(storage)
    timer = storage._timer
    assert isinstance(timer, threading.Timer)
    assert timer.daemon
    assert timer.interval == 11
    clock.now = 11
    timer.function()  # what the timer does when it is due
    timer.cancel()
    assert files_of(storage) == []


def test_the_number_of_unfinished_uploads_is_limited_for_each_caller_and_for_all() -> None:
    storage = Storage(UploadStorage(uploads=3, uploads_per_caller=2))
    first = begin(storage)
    begin(storage)
    with pytest.raises(ArgumentError, match="You have 2 unfinished uploads"):
        begin(storage)
    begin(storage, BOB)
    with pytest.raises(ArgumentError, match="The server has no room for 4 bytes now"):
        begin(storage, BOB)
    storage.cancel(first, ALICE)
    begin(storage, BOB)


def test_the_total_size_of_unfinished_uploads_is_limited_by_what_they_announce() -> None:
    storage = Storage(UploadStorage(bytes=10))
    begin(storage, size=6)
    with pytest.raises(ArgumentError, match="no room"):
        begin(storage, size=6)
    begin(storage, size=4)


@pytest.mark.parametrize("name", ["../../evil.sh", "/etc/passwd", "..\\x.csv", "a\0.csv", "\u202egpj.exe"])
def test_a_hostile_name_does_not_reach_the_file_system(name: str) -> None:
    storage = Storage(UploadStorage())
    with storage.take([begin(storage, name=name, size=0)], "tool", ALICE) as (file,):
        assert storage._folder is not None
        assert file.path.parent == storage._folder.path
        assert file.path.stem.isalnum()
        assert "/" not in file.name
        assert "\u202e" not in file.name


def test_what_arrived_is_checked_again_before_a_function_gets_it() -> None:
    storage = Storage(UploadStorage())
    id = begin(storage, name="a.png", limits=FileLimits([".png"], 10))
    storage.write(id, ALICE, 0, b"MZ..")
    with pytest.raises(ArgumentError, match="not a png file"), storage.take([id], "tool", ALICE):
        pass
    assert files_of(storage) == []


def test_closing_removes_everything() -> None:
    storage = Storage(UploadStorage())
    begin(storage)
    (path,) = files_of(storage)
    storage.close()
    assert not path.parent.exists()


@pytest.mark.parametrize("options", [{"uploads": 0}, {"bytes": -1}, {"seconds": "x"}, {"uploads_per_caller": True}])
def test_limits_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(RegistrationError, match="expected a number above 0"):
        UploadStorage(**options)
