"""The files of one submission: taken while its values are validated, and removed when its function has succeeded."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType

from fanlight.protocol.errors import ArgumentError
from fanlight.show.files.limits import FileLimits
from fanlight.show.files.uploaded_file import UploadedFile

Take = Callable[[str, list[str]], AbstractContextManager[list[UploadedFile]]]
"""Takes uploads of the caller from a target."""


class FormFiles:
    """The files of one submission, as a context manager. After a ValueError they can be submitted again."""

    def __init__(self, targets: Mapping[FileLimits, str], take: Take | None) -> None:
        self._targets = targets
        self._take = take
        self._stack = ExitStack()
        self._of_target: set[tuple[str, str]] = set()
        self.taken: dict[str, UploadedFile] = {}
        """By the ids of the uploads."""

    def take(self, limits: FileLimits, id: str) -> UploadedFile:
        """Return the file of an upload. Raise ArgumentError if the caller has no such upload for these limits."""
        target = self._targets.get(limits)
        if target is None or self._take is None:
            raise ArgumentError("The form has no such field.")
        # Each variant of a union may ask for the same file. A field with other limits must not get it.
        if (target, id) not in self._of_target:
            (self.taken[id],) = self._stack.enter_context(self._take(target, [id]))
            self._of_target.add((target, id))
        return self.taken[id]

    def __enter__(self) -> "FormFiles":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)
