"""Temporary folders, and those that a killed process left behind."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fanlight.temporary import TemporaryFolder, remove_stale_folders

PROGRAM = """
import signal
from fanlight.temporary import TemporaryFolder

folder = TemporaryFolder()
(folder.path / "file").touch()
print(folder.path, flush=True)
signal.pause()
"""


@pytest.fixture(autouse=True)
def temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_a_folder_is_removed_at_the_end_of_the_block(temp: Path) -> None:
    with TemporaryFolder() as folder:
        (folder.path / "file").touch()
        assert folder.path.parent == temp
    assert list(temp.iterdir()) == []


@pytest.mark.process
def test_the_folder_of_a_killed_process_is_removed_and_that_of_a_running_one_is_not(temp: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert folder.parent == temp
        remove_stale_folders()
        assert (folder / "file").exists()
        process.send_signal(signal.SIGKILL)
    assert folder.exists()
    remove_stale_folders()
    assert not folder.exists()


def test_a_folder_of_this_process_and_folders_of_others_stay(temp: Path) -> None:
    (temp / "fanlight-without-a-lock").mkdir()
    (temp / "elsewhere").mkdir()
    (temp / "elsewhere" / ".lock").touch()
    (temp / "fanlight-link").symlink_to(temp / "elsewhere")
    with TemporaryFolder() as folder:
        remove_stale_folders()
        assert folder.path.exists()
    assert {path.name for path in temp.iterdir()} == {"fanlight-without-a-lock", "elsewhere", "fanlight-link"}
