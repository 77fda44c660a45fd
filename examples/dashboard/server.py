"""Live metrics of this computer: the model calls a tool once, and the View polls an app-only tool."""

import os
import platform
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import anyio
from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from fanlight import Apps

server = MCPServer("dashboard")
apps = Apps(server)

PROC = Path("/proc")  # exists only on Linux
READ_ONLY = ToolAnnotations(read_only_hint=True)
Seconds = Annotated[float, Field(ge=1, le=60, description="Seconds between two updates of the View.")]


@dataclass(frozen=True)
class Metric:
    """One measured value. `share` is None if this system cannot measure it, and `detail` has the reason."""

    name: str
    shown: str
    detail: str
    share: float | None = None


@dataclass(frozen=True)
class Sample:
    taken: str
    system: str
    every: float
    metrics: list[Metric]
    text: str


@dataclass
class Processor:
    """The load of the processor between two samples."""

    cores: int = os.cpu_count() or 1
    before: tuple[float, float] | None = None
    sampled: float = 0.0
    busy: float = 0.0

    async def share(self) -> float:
        """Return the share of time that the processor was busy since the last sample. The first call takes 0.2 s."""
        if self.before is None:
            self.before, self.sampled = self._times(), time.monotonic()
            await anyio.sleep(0.2)
        # Several Views may call this in turn, and a very short interval gives a meaningless value.
        if time.monotonic() - self.sampled >= 0.15:
            busy, whole = self._times()
            earlier_busy, earlier_whole = self.before
            if whole > earlier_whole:
                self.busy = min(max((busy - earlier_busy) / (whole - earlier_whole), 0.0), 1.0)
            self.before, self.sampled = (busy, whole), time.monotonic()
        return self.busy

    def _times(self) -> tuple[float, float]:
        line = (PROC / "stat").read_text(encoding="ascii").partition("\n")[0]
        times = [int(part) for part in line.split()[1:9]]  # the first two fields include the time of guests
        whole = sum(times)
        return whole - times[3] - times[4], whole


processor = Processor()


def amount(size: float) -> str:
    """Format a number of bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


async def cpu() -> Metric:
    share = await processor.share()
    cores = processor.cores
    return Metric("CPU", f"{share:.0%}", f"of {cores} {'core' if cores == 1 else 'cores'}", share)


def memory() -> Metric:
    lines = (line.split() for line in (PROC / "meminfo").read_text(encoding="ascii").splitlines())
    sizes = {fields[0].rstrip(":"): int(fields[1]) * 1024 for fields in lines}
    whole = sizes["MemTotal"]
    used = whole - sizes.get("MemAvailable", sizes["MemFree"])
    return Metric("Memory", f"{used / whole:.0%}", f"{amount(used)} of {amount(whole)} used", used / whole)


def disk() -> Metric:
    place = Path.cwd().anchor
    whole, used, _ = shutil.disk_usage(place)
    return Metric("Disk", f"{used / whole:.0%}", f"{amount(used)} of {amount(whole)} used on {place}", used / whole)


def load() -> Metric:
    one, five, fifteen = os.getloadavg()
    return Metric("Load", f"{one:.2f}", f"{five:.2f} in 5 min, {fifteen:.2f} in 15", min(one / processor.cores, 1.0))


def measured(name: str, measure: Callable[[], Metric]) -> Metric:
    """Return a metric, or a placeholder if this system does not provide it."""
    try:
        return measure()
    except (OSError, AttributeError, ValueError, KeyError, IndexError, ZeroDivisionError):
        return unmeasured(name)


def unmeasured(name: str) -> Metric:
    return Metric(name, "–", f"Python alone cannot measure this on {platform.system() or 'this system'}.")


async def sample(every: float) -> Sample:
    try:
        first = await cpu()
    except (OSError, ValueError, IndexError):
        first = unmeasured("CPU")
    parts = [("Memory", memory), ("Disk", disk), ("Load", load)]
    metrics = [first, *(measured(name, measure) for name, measure in parts)]
    lines = [f"{metric.name}: {metric.shown} ({metric.detail})" for metric in metrics]
    now = datetime.now(UTC)
    system = f"{platform.system()} {platform.release()}".strip()
    text = "\n".join([f"{system} at {now:%H:%M:%S} UTC", *lines])
    return Sample(now.isoformat(timespec="seconds"), system, every, metrics, text)


@apps.tool(view="dashboard.html", annotations=READ_ONLY)
async def show_dashboard(every: Seconds = 2) -> Annotated[CallToolResult, Sample]:
    "Show how busy this computer is, live: processor, memory, disk and load."
    taken = await sample(every)
    return CallToolResult(content=[TextContent(type="text", text=taken.text)], structured_content=asdict(taken))


@apps.tool(visibility=["app"], annotations=READ_ONLY)
async def take_sample(every: Seconds = 2) -> Sample:
    "Measure again. Only the View calls this, which keeps the numbers out of the conversation."
    return await sample(every)


if __name__ == "__main__":
    server.run()
