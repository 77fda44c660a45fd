"""Configuration files of hosts: read, written in one step, with a backup of what was there."""

import difflib
import os
import secrets
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from fanlight.install.errors import InstallError

_BOM: Final = "\ufeff"


class ConfigFile:
    """A file of a host that may not exist yet. Raises `InstallError` for one that is not text in UTF-8."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._bytes = self._read()
        try:
            text = (self._bytes or b"").decode("utf-8")
        except UnicodeDecodeError:
            raise InstallError(f"{path} cannot be edited: it is not a text file in UTF-8.") from None
        self._bom = _BOM if text.startswith(_BOM) else ""
        self.text = text.removeprefix(_BOM)

    def diff(self, text: str) -> str:
        """Return what a new text changes, as a unified diff with one line of context."""
        name = str(self.path)
        old, new = self.text.splitlines(), text.splitlines()
        return "\n".join(difflib.unified_diff(old, new, name, name, lineterm="", n=1))

    def write(self, text: str, *, is_secret: bool = False) -> Path | None:
        """Replace the text in one step, and return the backup, or None for a new file.

        Links are followed, and the mode and the owner of the file stay. Only the owner can read a new file that is
        secret.
        """
        real = Path(os.path.realpath(self.path))
        try:
            real.parent.mkdir(parents=True, exist_ok=True)
            if self._bytes is not None and not stat.S_IMODE(real.stat().st_mode) & 0o222:
                raise InstallError(f"{self.path} is read-only. Make it writable, and repeat the command.")
            temporary = real.with_name(f".{real.name}.{secrets.token_hex(4)}.tmp")
            try:
                mode = 0o600 if self._bytes is not None or is_secret else 0o666
                self._write_new(temporary, (self._bom + text).encode("utf-8"), mode)
                if self._bytes is not None:
                    _copy_rights(real, temporary)
                if self._read() != self._bytes:
                    raise InstallError(f"{self.path} was changed by another program. Repeat the command.")
                backup = self._back_up()
                temporary.replace(real)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as error:
            raise InstallError(f"{self.path} cannot be written: {error.strerror}.") from None
        return backup

    def _read(self) -> bytes | None:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InstallError(f"{self.path} cannot be read: {error.strerror}.") from None

    def _back_up(self) -> Path | None:
        """Copy the file to the first free name beside it."""
        if self._bytes is None:
            return None
        number = 1
        while True:
            backup = self.path.with_name(f"{self.path.name}.{number}.bak")
            try:
                self._write_new(backup, self._bytes, 0o600)
            except FileExistsError:
                number += 1
                continue
            _copy_rights(self.path, backup)
            return backup

    def _write_new(self, path: Path, content: bytes, mode: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


def _copy_rights(source: Path, target: Path) -> None:
    shutil.copymode(source, target)
    if hasattr(os, "chown"):
        of_source = source.stat()
        with suppress(PermissionError):
            os.chown(target, of_source.st_uid, of_source.st_gid)
