"""Two processes that use one store without a bus."""

from pathlib import Path

import anyio
import pytest

from fanlight.host import Host

pytestmark = pytest.mark.anyio

WARNING = "Another process uses the store of this host"


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanlight.host.store.sharing.INTERVAL", 0.02)


async def test_both_processes_warn_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = f"sqlite:///{tmp_path}/host.db"
    async with Host({}, store=store), Host({}, store=store):
        with anyio.fail_after(60):
            while caplog.text.count(WARNING) < 2:  # noqa: ASYNC110  a log has no event
                await anyio.sleep(0.02)
        await anyio.sleep(0.2)  # ten looks more
    assert caplog.text.count(WARNING) == 2
    assert 'Write Host(..., bus="redis://...")' in caplog.text


async def test_a_process_that_is_started_again_does_not_warn(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Goes red if what the last process wrote counts as a process."""
    for _ in range(3):
        async with Host({}, store=f"sqlite:///{tmp_path}/host.db"):
            await anyio.sleep(0.1)  # five looks
    assert WARNING not in caplog.text


async def test_a_process_that_drains_does_not_warn(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = f"sqlite:///{tmp_path}/host.db"
    async with Host({}, store=store) as host:
        await host.drain(0)
        async with Host({}, store=store):
            await anyio.sleep(0.2)  # ten looks
    assert WARNING not in caplog.text
