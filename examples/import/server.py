"""Import: a CSV file from the user's machine becomes a table, with a summary for the model. No HTML, no JavaScript."""

from pathlib import Path
from typing import IO

import anyio.to_thread
import pandas as pd
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from fanlight import Apps, show

server = MCPServer("import")
apps = Apps(server)

ROWS_AT_ONCE = 20_000


@apps.upload(title="Import a CSV file", accept=[".csv", ".tsv"], max_bytes=100_000_000)
async def import_csv(file: show.UploadedFile, ctx: Context) -> list[object]:
    "Import a CSV file of the user: its rows, what is missing in them, and a cleaned copy to save."
    with file.open() as stream:
        frame = await read(file, stream, ctx)
    cleaned = frame.drop_duplicates().dropna(how="all")
    return [
        show.Columns(
            show.Metric("Rows", len(frame)),
            show.Metric("Columns", len(frame.columns)),
            show.Metric("Missing values", int(frame.isna().sum().sum())),
            show.Metric("Repeated or empty rows", len(frame) - len(cleaned)),
        ),
        frame,
        *cleaned_copy(file, cleaned),
    ]


async def read(file: show.UploadedFile, stream: IO[bytes], ctx: Context) -> pd.DataFrame:
    """Read the rows part by part, so that the user sees the progress and can cancel."""
    separator = "\t" if file.path.suffix == ".tsv" else ","
    parts: list[pd.DataFrame] = []
    with pd.read_csv(stream, sep=separator, chunksize=ROWS_AT_ONCE) as reader:
        while (part := await anyio.to_thread.run_sync(next, reader, None)) is not None:
            parts.append(part)
            await ctx.report_progress(stream.tell(), file.size, f"{sum(map(len, parts)):,} rows read")
    return pd.concat(parts, ignore_index=True)


def cleaned_copy(file: show.UploadedFile, cleaned: pd.DataFrame) -> list[object]:
    """Return the cleaned rows as a file, unless hosts would refuse it as too large."""
    content = cleaned.to_csv(index=False).encode()
    if len(content) > 10_000_000:
        return []
    return [show.Download(content, f"{Path(file.name).stem}-cleaned.csv", "text/csv")]


if __name__ == "__main__":
    server.run()
