"""Exfiltration: a View tries every known way to reach an origin that it did not declare."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from playwright.async_api import BrowserContext, ConsoleMessage, Error, Frame, Page

from attacks.arena import (
    ATTEMPTS,
    DEFENDED,
    SHIMMED,
    UNCHANGED,
    Arena,
    Way,
    arena,
    every_kind,
    host_of,
    hostile,
)
from attacks.catalogue import EXFILTRATION, Attack
from attacks.listener import Listener, listening
from fanlight import Csp
from fanlight.host import Host, Policy
from support.browser import profile

pytestmark = pytest.mark.process

ID = re.compile(r"\b(?:out|go)-[a-z-]+")
# In a task of its own: what a debugger evaluates may use `eval`, whatever the policy says.
TRY = "([id, place]) => new Promise((done) => setTimeout(() => attempt(id, place).then(done)))"
# Without waiting, since the document may be unloaded.
TRY_LATER = "([id, place]) => { setTimeout(() => attempt(id, place)) }"
LIKE: dict[Way, Literal["strict", "compat", "html"]] = {"compat": "compat", "html": "html"}
SECONDS = 45
"""How long an attempt has to leave its sign. A stopped attempt is recognised by its sign, so no time is too short."""


@dataclass
class Outcome:
    """The outcome of all attempts in one way of showing a View."""

    visits: set[str] = field(default_factory=set)
    signs: dict[str, list[str]] = field(default_factory=dict)
    current: str = ""

    def note(self, id: str, *signs: str) -> None:
        self.signs.setdefault(id, []).extend(signs)

    def on_console(self, message: ConsoleMessage) -> None:
        for id in set(ID.findall(message.text)) or {self.current}:
            self.note(id, message.text)


@dataclass
class Attempts:
    """Runs attempts in one browser, against one listener."""

    context: BrowserContext
    arena: Arena
    evil: Listener
    way: Way
    outcome: Outcome = field(default_factory=Outcome)

    @property
    def place(self) -> dict[str, Any]:
        return {
            "origin": self.evil.origin,
            "stun": self.evil.udp("out-webrtc-stun"),
            "turn": self.evil.tcp("out-webrtc-turn"),
            "quic": self.evil.udp("out-webtransport"),
            "preconnect": self.evil.tcp("out-preconnect"),
            "nestedStun": self.evil.udp("out-nested-webrtc"),
            "nestedPreconnect": self.evil.tcp("out-nested-preconnect"),
            "dns": f"looked-up-by-{self.way}.localhost",
        }

    async def page(self) -> Page:
        page = await self.context.new_page()
        page.on("console", self.outcome.on_console)
        return page

    def ended(self, attack: Attack) -> bool:
        """Whether an attempt has left all of its expected signs."""
        arrived = attack.id in {*self.evil.visits, "out-dns-prefetch"}  # found in the browser's log, at the end
        if self.way == "plain":
            return arrived or not attack.control
        like = LIKE.get(self.way, "strict")
        left = any(attack.expected_sign(like) in sign for sign in self.outcome.signs.get(attack.id, []))
        return left and (arrived or like not in attack.open_in)

    async def read(self, view: Frame, id: str) -> None:
        """Record where a View is, and its own report of an attempt if it is still there."""
        self.outcome.note(id, f"at {view.url}")
        if not view.url.startswith("chrome-error:"):
            try:
                self.outcome.note(id, *await view.evaluate("id => globalThis.signs?.[id] ?? signs[id] ?? []", id))
            except Error as error:
                self.outcome.note(id, str(error))

    async def read_all(self, tried: list[tuple[Frame, Attack]]) -> None:
        """Read until each attempt has left its sign, or had the time to."""
        for view, attack in tried:
            await self.read(view, attack.id)
        with anyio.move_on_after(SECONDS):
            while waiting := [(view, attack) for view, attack in tried if not self.ended(attack)]:
                await anyio.sleep(0.1)
                for view, attack in waiting:
                    await self.read(view, attack.id)

    async def in_one_view(self, attacks: list[Attack]) -> None:
        page = await self.page()
        (view,) = await self.arena.open(page, self.way)
        for attack in attacks:
            self.outcome.current = attack.id
            await view.evaluate(TRY, [attack.id, self.place])
            # Before the next one: for some, the browser reports what was blocked without the address.
            await self.read_all([(view, attack)])
        self.outcome.current = ""
        await page.close()

    async def in_a_view_each(self, attacks: list[Attack]) -> None:
        page = await self.page()
        views = await self.arena.open(page, self.way, len(attacks))
        for view, attack in zip(views, attacks, strict=True):
            await view.evaluate(TRY_LATER, [attack.id, self.place])
        await anyio.sleep(1)
        await self.read_all(list(zip(views, attacks, strict=True)))
        await page.close()

    async def in_a_page_each(self, attacks: list[Attack]) -> None:
        """Run each attempt in a page of its own, a few at a time."""
        for first in range(0, len(attacks), 8):
            async with anyio.create_task_group() as tasks:
                for attack in attacks[first : first + 8]:
                    tasks.start_soon(self.in_its_own_page, attack)
            if self.way == "plain":
                for page in self.context.pages[1:]:
                    await page.close()

    async def in_its_own_page(self, attack: Attack) -> None:
        page = await self.page()
        page.on("crash", lambda _: self.outcome.note(attack.id, "crashed"))
        (view,) = await self.arena.open(page, self.way, top=attack.id == "out-speculation")
        await view.evaluate(TRY_LATER, [attack.id, self.place])
        await anyio.sleep(0.5)
        self.outcome.note(attack.id, "returned")
        with anyio.move_on_after(SECONDS):
            while not self.ended(attack):  # noqa: ASYNC110  there is no event for its end
                await anyio.sleep(0.1)

    async def run(self) -> Outcome:
        calm = [attack for attack in EXFILTRATION if not attack.alone]
        wild = [attack for attack in EXFILTRATION if attack.alone]
        if self.way == "plain":
            leaving = [attack for attack in EXFILTRATION if attack.alone or attack.id.startswith("go-")]
            speculation = [attack for attack in EXFILTRATION if attack.id == "out-speculation"]
            await self.in_one_view([attack for attack in calm if attack not in (*leaving, *speculation)])
            await self.in_a_page_each([*leaving, *speculation])
        else:
            deadly = [attack for attack in wild if attack.id == "out-nested-webrtc"]
            await self.in_one_view(calm)
            await self.in_a_view_each([attack for attack in wild if attack not in deadly])
            await self.in_a_page_each(deadly)
        await anyio.sleep(0.5)
        self.outcome.visits = set(self.evil.visits)
        return self.outcome


async def tried(folder: Path, together: tuple[Way, ...], then: tuple[Way, ...] = ()) -> dict[Way, Outcome]:
    """Let a View try everything, shown in some ways at the same time, and then in others."""
    log = folder / "net.json"
    found: dict[Way, Outcome] = {}
    with arena(host_of(**every_kind())) as stage:
        async with profile(folder / "profile", f"--log-net-log={log}") as context:

            async def run(way: Way) -> None:
                with listening() as evil:
                    found[way] = await Attempts(context, stage, evil, way).run()

            async with anyio.create_task_group() as tasks:
                for way in together:
                    tasks.start_soon(run, way)
            for way in then:
                await run(way)
    # Which names were looked up is in the browser's own log, complete when it has ended.
    text = log.read_text(encoding="utf-8")
    for way, outcome in found.items():
        if f"looked-up-by-{way}.localhost" in text:
            outcome.visits.add("out-dns-prefetch")
    return found


@pytest.fixture(scope="module")
async def outcomes(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> dict[Way, Outcome]:
    """The outcomes in every way of showing a View, and in a page without defences."""
    return await tried(tmp_path_factory.mktemp("exfiltration"), UNCHANGED, ("plain",))


@pytest.fixture(scope="module")
async def shimmed(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> dict[Way, Outcome]:
    """The outcomes in documents with a shim."""
    return await tried(tmp_path_factory.mktemp("exfiltration-shimmed"), SHIMMED)


def test_every_attempt_is_in_the_catalogue() -> None:
    assert set(re.findall(r'^  "([a-z-]+)":', ATTEMPTS, re.MULTILINE)) == {attack.id for attack in EXFILTRATION}


def stopped(attack: Attack, outcome: Outcome, like: Literal["strict", "compat", "html"]) -> None:
    sign = attack.expected_sign(like)
    assert any(sign in found for found in outcome.signs.get(attack.id, [])), outcome.signs.get(attack.id)
    # If this fails for an attack that is listed as open, it is stopped now: update the catalogue.
    assert (attack.id in outcome.visits) is (like in attack.open_in)


@pytest.mark.parametrize("way", UNCHANGED)
@pytest.mark.parametrize("attack", EXFILTRATION, ids=lambda attack: attack.id)
def test_exfiltration_is_stopped(
    attack: Attack, way: Literal["strict", "compat", "html"], outcomes: dict[Way, Outcome]
) -> None:
    """Each fails without what `attack.defence.without` names: by a visit, or by the sign that is missing then."""
    stopped(attack, outcomes[way], way)


@pytest.mark.parametrize("way", SHIMMED)
@pytest.mark.parametrize("attack", EXFILTRATION, ids=lambda attack: attack.id)
def test_exfiltration_is_stopped_in_a_document_with_a_shim(
    attack: Attack, way: Way, shimmed: dict[Way, Outcome]
) -> None:
    """A document with a shim has the same defences."""
    stopped(attack, shimmed[way], "strict")


@pytest.mark.parametrize("attack", [attack for attack in EXFILTRATION if attack.control], ids=lambda attack: attack.id)
def test_exfiltration_succeeds_in_a_page_without_defences(attack: Attack, outcomes: dict[Way, Outcome]) -> None:
    assert attack.id in outcomes["plain"].visits, outcomes["plain"].signs.get(attack.id)


def test_there_are_no_unexpected_visits(outcomes: dict[Way, Outcome], shimmed: dict[Way, Outcome]) -> None:
    for way in DEFENDED:
        assert {**outcomes, **shimmed}[way].visits <= {attack.id for attack in EXFILTRATION}, way


# Declared domains are reached: a policy that stops everything would pass all tests above.

REACHED = {
    "connect_domains": {"out-fetch", "out-xhr", "out-websocket", "out-eventsource", "out-beacon"},
    "resource_domains": {"out-image", "out-script", "out-stylesheet", "out-font-api", "out-video", "out-import"},
    "frame_domains": {"out-frame", "out-frame-moved"},
}
WORKS = """async () => {
  const url = (text) => URL.createObjectURL(new Blob([text], {type: "text/javascript"}));
  const worker = new Worker(url("postMessage(self.location.protocol)"));
  const heard = await new Promise((done) => (worker.onmessage = ({data}) => done(data)));
  const pixel = document.createElement("canvas").toDataURL();
  const loaded = (src) => new Promise((done) => Object.assign(new Image(), {onload: () => done(1), src}));
  const blob = URL.createObjectURL(await new Promise((done) => document.createElement("canvas").toBlob(done)));
  const module = await import(url("export default 42"));
  return [heard, await loaded(pixel), await loaded(blob), module.default, (0, eval)("6 * 7")];
}"""


@pytest.mark.anyio
@pytest.mark.parametrize("pattern", ["http://evil.localhost:PORT", "*.localhost:*"])
async def test_only_declared_domains_are_reached(pattern: str, tmp_path: Path) -> None:
    with listening() as evil:
        source = pattern.replace("PORT", str(evil.port))
        ids = [id for reached in REACHED.values() for id in reached]
        # For sockets, a source has to say so.
        sources = [source, f"ws://{source.removeprefix('http://')}"]
        servers = {name: hostile(name, csp=Csp(**{name: sources}))[0] for name in REACHED}
        profiles = {name: {"profile": "compat"} for name in REACHED} if pattern.startswith("*") else {}
        host = Host(servers, policy=Policy({"servers": profiles}))
        with arena(host) as stage:
            async with profile(tmp_path) as context:
                for name, reached in REACHED.items():
                    attempts = Attempts(context, stage, evil, "strict")
                    page = await attempts.page()
                    await page.goto(f"{stage.origin}/show/{name}")
                    (view,) = await stage.views(page, 1)
                    evil.visits.clear()
                    for id in ids:
                        await view.evaluate(TRY, [id, attempts.place])
                    with anyio.move_on_after(SECONDS):
                        while not reached <= set(evil.visits):  # noqa: ASYNC110  the listener is a thread
                            await anyio.sleep(0.05)
                    await anyio.sleep(0.3)
                    assert set(evil.visits) - {"heard"} == reached
                    await page.close()


@pytest.mark.anyio
async def test_the_compat_profile_allows_workers_blobs_and_eval(tmp_path: Path) -> None:
    with arena(host_of(compat=hostile("compat")[0])) as stage:
        async with profile(tmp_path) as context:
            page = await context.new_page()
            (view,) = await stage.open(page, "compat")
            assert await view.evaluate(WORKS) == ["blob:", 1, 1, 42, 42]
