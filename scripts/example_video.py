"""Make the video of examples/video: draw its frames in a browser, and encode them with ffmpeg.

python scripts/example_video.py [--ffmpeg PATH]
"""

import argparse
import asyncio
import base64
import subprocess
import tempfile
from pathlib import Path

from fanlight.testing.browser import launch_browser

ROOT = Path(__file__).resolve().parent.parent
PAGE = Path(__file__).with_suffix(".html")
TARGET = ROOT / "examples" / "video"
SECONDS, RATE = 12, 20
POSTER = 0.7
"""The part of the day that the poster shows."""


async def draw_frames(folder: Path) -> None:
    async with launch_browser() as browser:
        page = await browser.new_page()
        await page.goto(PAGE.as_uri())
        for number in range(SECONDS * RATE):
            day = number / (SECONDS * RATE - 1)
            frame = await page.evaluate("(day) => frame(day, 'image/png')", day)
            (folder / f"{number:04}.png").write_bytes(base64.b64decode(frame))
        poster = await page.evaluate("(day) => frame(day, 'image/jpeg', 0.8)", POSTER)
        (TARGET / "day.jpg").write_bytes(base64.b64decode(poster))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ffmpeg", default="ffmpeg", help="the program (default: the one of the PATH)")
    ffmpeg = parser.parse_args().ffmpeg
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(draw_frames(Path(folder)))
        frames = ["-framerate", str(RATE), "-i", f"{folder}/%04d.png"]
        # A key frame each second, so that the user can jump to any caption at once.
        codec = ["-c:v", "libvpx-vp9", "-crf", "37", "-b:v", "0", "-g", str(RATE), "-pix_fmt", "yuv420p"]
        exact = ["-fflags", "+bitexact", "-flags:v", "+bitexact"]
        command = [ffmpeg, "-v", "error", "-y", *frames, *codec, *exact, str(TARGET / "day.webm")]
        subprocess.run(command, check=True, timeout=600)
    print(f"{TARGET / 'day.webm'}: {(TARGET / 'day.webm').stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
