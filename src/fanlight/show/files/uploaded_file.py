"""A file that a user uploaded, as the author's function gets it."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from pydantic import GetCoreSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, core_schema

from fanlight.protocol.errors import ArgumentError
from fanlight.show.files.limits import FILE_LIMITS, FileLimits

TAKEN_FILES: Final = "fanlight_files"
"""The context of a validation in which uploads are taken: a `TakesFiles`."""


@dataclass(frozen=True)
class UploadedFile:
    """A file that a user uploaded. It exists while the function runs that gets it; copy what has to stay."""

    name: str
    """The name on the user's machine: one part of a path, without invisible characters. Show it, never trust it."""
    size: int
    """The number of bytes that arrived."""
    type: str
    """The MIME type that the user's browser declared, or the usual one for the name. Nobody has verified it."""
    path: Path
    """Where it is stored. The name is Fanlight's own, with the ending of the user's."""

    def open(self) -> BinaryIO:
        """Open the file for reading."""
        return self.path.open("rb")

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return file_schema(FileLimits())


class TakesFiles(Protocol):
    """What hands over the uploads of a submission."""

    def take(self, limits: FileLimits, id: str) -> UploadedFile:
        """Return the file of an upload, or raise ArgumentError."""
        ...


def file_schema(limits: FileLimits) -> core_schema.PlainValidatorFunctionSchema:
    """Return the schema of pydantic for a file with some limits. In JSON, a file is the id of its upload."""
    return core_schema.with_info_plain_validator_function(partial(_file, limits), metadata={FILE_LIMITS: limits})


def _file(limits: FileLimits, value: Any, info: ValidationInfo) -> UploadedFile:
    if isinstance(value, UploadedFile):
        return value
    files = (info.context or {}).get(TAKEN_FILES)
    if files is None or not isinstance(value, str):
        raise ArgumentError("Only the form can take a file.")
    taken: UploadedFile = files.take(limits, value)
    return taken
