"""The API reference: every public name and every part of it has an entry, on the site and on a code host."""

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

import fanlight.host
import fanlight.testing
from fanlight import ViewOptions
from fanlight.host import Limits, Rules, Timeouts
from fanlight.host.consent.question import Kind
from fanlight.host.store.base import AuditKind
from fanlight.host.upstream.events import State
from fanlight.testing.live_view import Step
from support.docs import ROOT
from support.scripts import script

pytestmark = pytest.mark.process  # the reader of docstrings asks git where the code comes from

api_pages = script("api_pages")
site_markdown = script("site_markdown")

REFERENCE = ROOT / "docs" / "reference"
AGENTS = tuple(f"fanlight.agents.{name}" for name in ("pydantic_ai", "openai_agents", "langchain", "ag_ui"))
PACKAGES = ("fanlight", "fanlight.show", "fanlight.host", "fanlight.mcpui", "fanlight.check", *AGENTS)
NOT_PUBLIC = {"permissive", "shot_command"}
"""Modules of fanlight.testing that only its other modules and the command line use."""
PLUGINS = ("fanlight.testing.plugin", "fanlight.check.plugin")


def fixtures(path: str) -> list[str]:
    """Return the fixtures of a plugin, and the classes that they give."""
    own = {name: value for name, value in vars(importlib.import_module(path)).items() if not name.startswith("_")}
    kind = type(importlib.import_module(PLUGINS[0]).open_view)  # what pytest makes of a function with @pytest.fixture
    classes = [name for name, value in own.items() if isinstance(value, type) and value.__module__ == path]
    return [f"{path}.{name}" for name in (*classes, *(name for name, value in own.items() if isinstance(value, kind)))]


def public_names() -> list[str]:
    """Return all that users may import, by the name that they import it by."""
    names = [f"{package}.{name}" for package in PACKAGES for name in importlib.import_module(package).__all__]
    for module in pkgutil.iter_modules(fanlight.testing.__path__):
        if module.name not in {*NOT_PUBLIC, "plugin"}:
            path = f"fanlight.testing.{module.name}"
            names += [f"{path}.{name}" for name in importlib.import_module(path).__all__]
    names += [f"fanlight.protocol.transcript.{name}" for name in ("RecordedMessage", "json_lines")]
    return names + [name for plugin in PLUGINS for name in fixtures(plugin)]


NAMES = public_names()
BLOCKS = {
    block.path: block
    for page in sorted(REFERENCE.glob("*.md"))
    for line in page.read_text(encoding="utf-8").splitlines()
    if (block := site_markdown.parse_block(line)) is not None
}
LEFT_OUT = {
    "fanlight.Csp": {"wire"},
    "fanlight.View": {"bind", "is_bound", "meta", "read", "read_for_client", "sources"},
    "fanlight.host.Profile": {"advertise", "limit_context", "serve"},
    "fanlight.show.FileLimits": {"check", "check_content"},
    "fanlight.testing.scripted.ScriptedView": {"attached", "close_socket", "max_bytes"},
}
"""What a class has for other modules of Fanlight. Nothing else may be missing from its entry."""


def found(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def parts(path: str) -> set[str]:
    """Return the public members of a class, except those that are explained as arguments or options."""
    target = api_pages.load()[path.removeprefix("fanlight.")]
    target = target.final_target if target.is_alias else target
    if not target.is_class:
        return set()
    explained = {name for name, _ in api_pages.arguments(target)}
    if path == "fanlight.View":
        explained |= ViewOptions.__annotations__.keys()
    return {
        name
        for name, member in target.members.items()
        if not (name.startswith("_") or member.is_class or member.is_alias) and name not in explained
    }


@pytest.fixture(scope="module")
def entries(site: Path) -> Counter[str]:
    """The anchors of the entries on the site."""
    pages = [path.read_text(encoding="utf-8") for path in (site / "reference").glob("*.html")]
    return Counter(anchor for page in pages for anchor in re.findall(r' id="(fanlight[\w.]+)"', page))


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_one_entry(name: str, entries: Counter[str]) -> None:
    assert name in BLOCKS
    assert entries[name] == 1


def test_every_entry_is_of_a_public_name() -> None:
    methods = {
        "fanlight.Apps.tool",
        "fanlight.Apps.show",
        "fanlight.Apps.form",
        "fanlight.Apps.pages",
        "fanlight.Apps.upload",
        "fanlight.Apps.view",
        "fanlight.Apps.supported",
        "fanlight.testing.stage.Stage.open",
    }
    assert set(BLOCKS) - methods == set(NAMES)


IMPLEMENTATIONS = {
    "fanlight.host.MemoryStore": "fanlight.host.Store",
    "fanlight.host.SqliteStore": "fanlight.host.Store",
    "fanlight.host.PostgresStore": "fanlight.host.Store",
    "fanlight.host.RedisStore": "fanlight.host.Store",
    "fanlight.host.RedisBus": "fanlight.host.Bus",
}
"""The classes whose methods are documented in a protocol."""


@pytest.mark.parametrize("name", [name for name in NAMES if name not in IMPLEMENTATIONS])
def test_every_part_of_a_public_class_has_an_entry(name: str, entries: Counter[str]) -> None:
    missing = {part for part in parts(name) if not entries[f"{name}.{part}"]}
    methods = {part for part in missing if f"{name}.{part}" in BLOCKS}
    assert missing - methods == LEFT_OUT.get(name, set())


@pytest.mark.parametrize(("name", "protocol"), IMPLEMENTATIONS.items())
def test_the_methods_of_an_implementation_are_those_of_its_protocol(name: str, protocol: str) -> None:
    own = getattr(fanlight.host, name.rpartition(".")[2])
    assert {name for name in dir(own) if not name.startswith("_")} == parts(protocol)


@pytest.mark.parametrize("page", sorted(REFERENCE.glob("*.md")), ids=lambda page: page.name)
def test_the_summaries_for_a_code_host_are_those_of_the_docstrings(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == api_pages.filled(text, api_pages.load()), "Run python scripts/api_pages.py."


@pytest.mark.parametrize(
    "name",
    ["fanlight.host.Host", "fanlight.Apps", "fanlight.View", "fanlight.check.check", "fanlight.testing.stage.Stage"],
)
def test_every_argument_is_explained(name: str) -> None:
    package = api_pages.load()
    explained = [argument for argument, _ in api_pages.arguments(package[name.removeprefix("fanlight.")])]
    assert explained == list(inspect.signature(found(name)).parameters)


@pytest.mark.parametrize("kind", [Timeouts, Limits])
def test_timeouts_and_limits_are_as_the_reference_says(kind: type[Timeouts] | type[Limits]) -> None:
    page = (REFERENCE / "host.md").read_text(encoding="utf-8")
    section = page.partition(f"### `{kind.__name__}`")[2].partition("<!-- /api -->")[0]
    rows = re.findall(r"^\| `(\w+)` \| `([\d._]+)` \|", section, re.MULTILINE)
    assert {name: float(value) for name, value in rows} == dataclasses.asdict(kind())


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("host.Question.kind", Kind),
        ("host.AuditRecord.kind", AuditKind),
        ("host.Status.state", State),
        ("testing.live_view.StageError.step", Step),
    ],
)
def test_the_values_of_a_field_are_those_of_its_type(field: str, values: Any) -> None:
    docstring = api_pages.load()[field].docstring
    assert docstring is not None
    assert re.findall(r"`([\w-]+)`", docstring.value) == list(get_args(values))


def test_every_rule_has_a_place_in_the_page_about_policies() -> None:
    page = (ROOT / "docs" / "how-to" / "write-a-policy.md").read_text(encoding="utf-8")
    rules = {field.name for field in dataclasses.fields(Rules)}
    assert {rule for rule in rules if not re.search(rf"\b{rule}\b", page)} == set()
