"""The files that `fanlight dev` watches."""

from pathlib import Path

from fanlight.inspector.watch import scan


def test_only_files_that_can_matter_are_watched(tmp_path: Path) -> None:
    for name in ("server.py", "view.html", "a.log", "node_modules/x.js", ".git/x.py", "src/deep.css"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    found = {str(Path(path).relative_to(tmp_path)) for path in scan(tmp_path)}
    assert found == {"server.py", "view.html", str(Path("src/deep.css"))}
