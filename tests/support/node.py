"""Node, what is in node_modules, and scripts that esbuild bundles with published packages inside."""

import functools
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_NODE = Path(sys.executable).with_name("node")


def node() -> str:
    """Return the path of Node; fail with the command that installs it."""
    assert _NODE.exists(), f"{_NODE} is missing: run `make setup`"
    return str(_NODE)


def node_module(path: str) -> Path:
    """Return a path inside node_modules; fail with the command that installs it."""
    found = ROOT / "node_modules" / path
    assert found.exists(), f"node_modules/{path} is missing: run `make setup`"
    return found


@functools.cache
def bundled(entry: Path, package: str) -> str:
    """Bundle a host page's script, where `app-bridge` is that of an installed package."""
    return run_esbuild(
        str(entry), "--bundle", "--format=esm", "--target=es2022", f"--alias:app-bridge={package}/app-bridge"
    )


def run_esbuild(*arguments: str, input: str | None = None) -> str:
    """Run esbuild in the folder that has node_modules, and return its output."""
    command = [str(node_module(".bin/esbuild")), *arguments]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NODE_PATH": str(ROOT / "node_modules")}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, input=input, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout
