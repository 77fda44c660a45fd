"""The files that `fanlight dev` watches."""

from contextlib import aclosing
from itertools import count
from pathlib import Path

import anyio
import pytest

from fanlight.inspector import watch
from fanlight.inspector.watch import changes, scan


def test_only_files_that_can_matter_are_watched(tmp_path: Path) -> None:
    for name in ("server.py", "view.html", "a.log", "node_modules/x.js", ".git/x.py", "src/deep.css"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    found = {str(Path(path).relative_to(tmp_path)) for path in scan(tmp_path)}
    assert found == {"server.py", "view.html", str(Path("src/deep.css"))}


@pytest.mark.anyio
async def test_a_folder_with_too_many_files_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watch, "MAX_FILES", 2)
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).touch()
    sizes = count(1)

    async def write() -> None:
        while True:
            (tmp_path / "a.py").write_text("#" * next(sizes), encoding="utf-8")
            (tmp_path / "b.py").write_text("#" * next(sizes), encoding="utf-8")
            (tmp_path / "c.py").write_text("#" * next(sizes), encoding="utf-8")
            await anyio.sleep(0.01)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks, aclosing(changes(tmp_path, interval=0.01)) as watching:
            tasks.start_soon(write)
            assert await anext(watching)
            assert await anext(watching)
            tasks.cancel_scope.cancel()
    (message,) = caplog.messages
    assert message.startswith(f"{tmp_path} has more than 2 source files")
