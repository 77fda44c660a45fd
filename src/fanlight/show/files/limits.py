"""Which files may be uploaded: their types and their size."""

import mimetypes
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema

from fanlight.protocol.errors import ArgumentError, RegistrationError
from fanlight.show.files.file_name import suffix_of

_SUFFIX: Final = re.compile(r"\.[a-z0-9][a-z0-9.]{0,15}")
_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]*)")
# How files of some types begin, so that one of another type is not taken for it.
_BEGINNINGS: Final[dict[str, tuple[bytes, ...]]] = {
    ".png": (b"\x89PNG\r\n\x1a\n",),
    ".jpg": (b"\xff\xd8\xff",),
    ".jpeg": (b"\xff\xd8\xff",),
    ".gif": (b"GIF87a", b"GIF89a"),
    ".webp": (b"RIFF",),
    ".pdf": (b"%PDF-",),
    ".zip": (b"PK\x03\x04", b"PK\x05\x06"),
    ".xlsx": (b"PK\x03\x04",),
    ".docx": (b"PK\x03\x04",),
    ".parquet": (b"PAR1",),
    ".gz": (b"\x1f\x8b",),
}
_LONGEST_BEGINNING: Final = 16

MOST_FILES: Final = 20
"""How many files a user uploads at a time."""
FILE_LIMITS: Final = "fanlight_file_limits"
"""The metadata of a file in a schema of pydantic: its limits."""


@dataclass(frozen=True)
class FileLimits:
    """Which files a field of a form accepts. Write it beside the type: `Annotated[UploadedFile, FileLimits(...)]`.

    A file is checked before its first byte is sent, and again when all of it has arrived.
    """

    accept: Iterable[str] = ()
    """Endings such as `.csv` and types such as `image/png` or `image/*`. Default: every file."""
    max_bytes: int = 50_000_000
    """How many bytes a file may have. Default: 50 MB."""

    def __post_init__(self) -> None:
        accept, max_bytes = self.accept, self.max_bytes
        if isinstance(accept, str):
            raise RegistrationError(f"accept is {accept!r}, expected a list. Write accept=[{accept!r}].")
        if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 1:
            raise RegistrationError(f"max_bytes is {max_bytes!r}, expected a number of bytes, such as 50_000_000.")
        found = tuple(entry.strip().lower() if isinstance(entry, str) else entry for entry in accept)
        for entry in found:
            if not isinstance(entry, str) or not (_SUFFIX.fullmatch(entry) or _TYPE.fullmatch(entry)):
                raise RegistrationError(
                    f'accept has {entry!r}, expected an ending such as ".csv", or a type such as "text/csv" or '
                    '"image/*".'
                )
        object.__setattr__(self, "accept", found)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from fanlight.show.files.uploaded_file import file_schema  # which needs the limits itself

        schema = handler(source)
        files = list(_files_in(schema))
        if not files:
            raise RegistrationError(f"FileLimits is written beside {source}, expected UploadedFile or a list of it.")
        for each in files:
            each.update(file_schema(self))
        return schema

    def check(self, name: str, size: int, type: str) -> None:
        """Raise ArgumentError for a file that is not accepted, as the View describes it."""
        if size > self.max_bytes:
            raise ArgumentError(
                f"{name} has {size_text(size)}, and at most {size_text(self.max_bytes)} can be uploaded."
            )
        # Systems declare different types for the same file, such as that of Excel for CSV, so the name counts, too.
        types = (type, type_of(name, ""))
        if self.accept and not any(_fits(entry, name.lower(), each) for entry in self.accept for each in types):
            raise ArgumentError(f"{name} is of another type. Accepted: {', '.join(self.accept)}.")

    def check_content(self, path: Path, name: str) -> None:
        """Raise ArgumentError for a file whose content is not what its name says."""
        beginnings = _BEGINNINGS.get(suffix_of(name).lower())
        if beginnings is None or not self.accept:
            return
        with path.open("rb") as file:
            if not file.read(_LONGEST_BEGINNING).startswith(beginnings):
                raise ArgumentError(f"{name} is not a {suffix_of(name)[1:]} file: its content is something else.")


def type_of(name: str, declared: str) -> str:
    """Return the type that a browser declared, or the usual one for a name."""
    declared = declared.split(";")[0].strip().lower()
    if _TYPE.fullmatch(declared) and "*" not in declared:
        return declared
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


def size_text(size: int) -> str:
    """Return a number of bytes for people, such as `1.5 MB`."""
    for unit, bytes_of_unit in (("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)):
        if size >= bytes_of_unit:
            return f"{size / bytes_of_unit:.3g} {unit}" if size < 999.5 * bytes_of_unit else f"{size:,} bytes"
    return f"{size:,} bytes" if size != 1 else "1 byte"


def _files_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Return the schemas of files in one of pydantic, but not those in a model, whose schema is shared."""
    if FILE_LIMITS in schema.get("metadata", {}):
        yield schema
    elif schema["type"] in ("list", "nullable", "default", "union"):
        for below in (schema.get("schema"), schema.get("items_schema"), *schema.get("choices", [])):
            if isinstance(below, dict):
                yield from _files_in(below)


def _fits(entry: str, name: str, type: str) -> bool:
    if entry.startswith("."):
        return name.endswith(entry)
    return type.startswith(entry[:-1]) if entry.endswith("/*") else type == entry
