"""Reloading: restart a server when its code changes, and reload its Views when their files change."""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import TaskGroup

from fanlight.dev.events import Events
from fanlight.dev.prewarm import PrewarmedProcesses
from fanlight.dev.targets import Served
from fanlight.host import Host
from fanlight.host.upstream.config import Command, Target
from fanlight.inspector.view_builds import ViewBuilds
from fanlight.inspector.watch import changes
from fanlight.protocol.errors import FanlightError

_PREWARM_DELAY: Final = 2.0
"""Seconds that a server has to start before the process for its next start is prewarmed."""


class Reloader:
    """Watches the folders of servers, and the documents that builds write for their Views."""

    def __init__(
        self,
        host: Host,
        servers: Mapping[str, Served],
        prewarmed: PrewarmedProcesses | None,
        builds: ViewBuilds,
        events: Events,
    ) -> None:
        self._host = host
        self._builds = builds
        self._folders = {name: served.folder for name, served in servers.items() if served.folder is not None}
        self._prewarmed = prewarmed
        self._events = events
        for name in self._folders:
            # A server that fails at once fails again until one of its files is changed.
            host.servers[name].wait_after_exit()

    async def run(self) -> None:
        """Watch all folders until cancelled."""
        async with anyio.create_task_group() as tasks:
            for name, folder in self._folders.items():
                tasks.start_soon(self._watch, name, folder, tasks)
                tasks.start_soon(self._prewarm, self._host.servers[name].target)

    async def _watch(self, name: str, folder: Path, tasks: TaskGroup) -> None:
        async for found in changes(folder, also=partial(self._builds.documents, folder)):
            changed = {path for path in found if not self._builds.is_input(path)}
            if not changed:
                continue
            if any(path.suffix == ".py" for path in changed):
                self._host.servers[name].restart()
                tasks.start_soon(self._reload_changed_views, name)
                tasks.start_soon(self._prewarm, self._host.servers[name].target)
            else:
                only_built = changed <= self._builds.documents(folder)
                await self._host.reload_views(name, changed=only_built)
            self._events.publish("reload", {"server": name, "files": sorted(path.name for path in changed)})

    async def _reload_changed_views(self, name: str) -> None:
        """Wait for a restarted server and reload the Views whose documents differ. Its status says if it failed."""
        with suppress(FanlightError):
            await self._host.servers[name].ready()
            await self._host.reload_views(name, changed=True)

    async def _prewarm(self, target: Target) -> None:
        if self._prewarmed is not None and isinstance(target, Command):
            await anyio.sleep(_PREWARM_DELAY)
            await self._prewarmed.prepare(Path(target.args[0]), target.env or {})
