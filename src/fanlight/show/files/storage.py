"""Where uploads are stored until a function gets them: temporary files, of a limited number, size and age."""

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from fanlight.protocol.errors import ArgumentError, RegistrationError
from fanlight.server.caller import Caller
from fanlight.show.files.file_name import safe_name, suffix_of
from fanlight.show.files.limits import FileLimits, size_text, type_of
from fanlight.show.files.uploaded_file import UploadedFile
from fanlight.temporary import TemporaryFolder, remove_stale_folders


@dataclass(frozen=True)
class UploadStorage:
    """How much a server stores of uploads that no function has got yet, and for how long."""

    uploads: int = 100
    """The number of uploads, of all users together. Default: 100."""
    uploads_per_caller: int = 20
    """The number of uploads of one user or session. Default: 20."""
    bytes: int = 1_000_000_000
    """How many bytes they may have together. An upload counts with its whole size from its beginning. Default: 1 GB."""
    seconds: float = 600
    """How long an upload is stored after its last part arrived. Default: ten minutes."""

    def __post_init__(self) -> None:
        for name in ("uploads", "uploads_per_caller", "bytes", "seconds"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise RegistrationError(f"UploadStorage({name}={value!r}): expected a number above 0.")


@dataclass
class _Upload:
    target: str
    limits: FileLimits
    owner: Caller | None
    name: str
    size: int
    type: str
    path: Path
    used: float
    received: int = 0
    is_taken: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def file(self) -> UploadedFile:
        return UploadedFile(self.name, self.size, self.type, self.path)


class Storage:
    """Uploads by id. An id works only for the caller that began the upload. Safe to use in threads."""

    def __init__(self, limits: UploadStorage, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._uploads: dict[str, _Upload] = {}
        self._lock = threading.Lock()
        self._folder: TemporaryFolder | None = None
        self._timer: threading.Timer | None = None

    def begin(self, target: str, limits: FileLimits, owner: Caller | None, name: str, size: int, type: str) -> str:
        """Begin an upload and return its id, or raise ArgumentError if it is not accepted."""
        name = safe_name(name)
        type = type_of(name, type)
        limits.check(name, size, type)
        with self._lock:
            self._drop_expired()
            self._check_room(owner, size)
            if self._folder is None:
                remove_stale_folders()
                self._folder = TemporaryFolder()
            id = secrets.token_urlsafe(18)
            # Of the name, only an ending of letters and digits gets into the path.
            path = self._folder.path / f"{secrets.token_hex(12)}{suffix_of(name)}"
            path.touch(mode=0o600, exist_ok=False)
            self._uploads[id] = _Upload(target, limits, owner, name, size, type, path, self._clock())
            self._expire_later()
        return id

    def received(self, id: str, owner: Caller | None) -> int | None:
        """Return how many bytes of an upload have arrived; None if there is no such upload of this caller."""
        upload = self._find(id, owner)
        return None if upload is None else upload.received

    def write(self, id: str, owner: Caller | None, start: int, data: bytes) -> int | None:
        """Store a part of an upload, and return how many bytes have arrived; None as for `received`.

        A part that has arrived before does no harm. Raise ArgumentError for one that is out of order or too long.
        """
        upload = self._find(id, owner)
        if upload is None:
            return None
        with upload.lock:
            if upload.is_taken or start > upload.received:
                raise ArgumentError(f"The part begins at byte {start:,}, and {upload.received:,} bytes have arrived.")
            if start + len(data) > upload.size:
                raise ArgumentError(f"{upload.name} was announced with {upload.size:,} bytes, and more have arrived.")
            with upload.path.open("r+b") as file:
                file.seek(start)
                file.write(data)
            upload.received = max(upload.received, start + len(data))
            return upload.received

    def cancel(self, id: str, owner: Caller | None) -> None:
        """Remove an upload, if there is such an upload of this caller."""
        with self._lock:
            upload = self._uploads.get(id)
            if upload is not None and upload.owner == owner and not upload.is_taken:
                self._remove(id)

    @contextmanager
    def take(
        self, ids: Sequence[str], target: str, owner: Caller | None, *, again: bool = False
    ) -> Iterator[list[UploadedFile]]:
        """Hand over complete uploads to a target, once. They are removed at the end of the block.

        With `again`, a block that ends with a ValueError leaves them, so that the user can correct something else.
        Raise ArgumentError if one of them is missing, not complete, or not what was announced.
        """
        distinct = list(dict.fromkeys(ids))
        with self._lock:
            self._drop_expired()
            uploads = [
                upload
                for id in distinct
                if (upload := self._uploads.get(id)) is not None
                and (upload.owner, upload.target, upload.is_taken) == (owner, target, False)
            ]
            if len(uploads) < len(distinct):
                raise ArgumentError("The upload is no longer on the server. Upload the file again.")
            for upload in uploads:
                if upload.received < upload.size:
                    raise ArgumentError(f"{upload.name} is not complete: {upload.received:,} of {upload.size:,} bytes.")
            for upload in uploads:
                upload.is_taken = True
        is_kept = False
        try:
            for upload in uploads:
                # The function may have moved the file away, and refused it then.
                size = upload.path.stat().st_size if upload.path.is_file() else 0
                upload.limits.check(upload.name, size, upload.type)
                if size != upload.size:
                    raise ArgumentError(f"{upload.name} has {size:,} bytes, and {upload.size:,} were announced.")
                upload.limits.check_content(upload.path, upload.name)
            try:
                yield [upload.file() for upload in uploads]
            except ValueError:
                is_kept = again
                raise
        finally:
            with self._lock:
                for id, upload in zip(distinct, uploads, strict=True):
                    if is_kept:
                        upload.is_taken, upload.used = False, self._clock()
                    else:
                        self._remove(id)

    def close(self) -> None:
        """Remove everything."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            for id in list(self._uploads):
                self._remove(id)
            if self._folder is not None:
                self._folder.close()
                self._folder = None

    def _find(self, id: str, owner: Caller | None) -> _Upload | None:
        with self._lock:
            self._drop_expired()
            upload = self._uploads.get(id)
            if upload is None or upload.owner != owner or upload.is_taken:
                return None
            upload.used = self._clock()
            return upload

    def _check_room(self, owner: Caller | None, size: int) -> None:
        waiting = list(self._uploads.values())
        if owner is not None and sum(upload.owner == owner for upload in waiting) >= self._limits.uploads_per_caller:
            raise ArgumentError(
                f"You have {self._limits.uploads_per_caller} unfinished uploads. Finish or cancel one of them first."
            )
        if len(waiting) >= self._limits.uploads or sum(each.size for each in waiting) + size > self._limits.bytes:
            raise ArgumentError(
                f"The server has no room for {size_text(size)} now, because of other uploads. Try again later."
            )

    def _drop_expired(self) -> None:
        oldest = self._clock() - self._limits.seconds
        for id, upload in list(self._uploads.items()):
            if upload.used < oldest and not upload.is_taken:
                self._remove(id)

    def _remove(self, id: str) -> None:
        upload = self._uploads.pop(id, None)
        if upload is not None:
            with suppress(OSError):
                upload.path.unlink()

    def _expire_later(self) -> None:
        """Remove expired uploads even if no further request comes."""
        if self._timer is None:
            self._timer = threading.Timer(self._limits.seconds + 1, self._expire)
            self._timer.daemon = True
            self._timer.start()

    def _expire(self) -> None:
        with self._lock:
            self._timer = None
            self._drop_expired()
            if self._uploads:
                self._expire_later()
