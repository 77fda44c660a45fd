"""The names of files, as they come from a user's machine."""

import re
import unicodedata
from typing import Final

_LONGEST: Final = 120
_UNSAFE: Final = re.compile(r'[<>:"|?*]')
# Control characters, those without a shape of their own (such as marks that reverse the direction of text), and lines.
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_RESERVED: Final = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])\s*(?:\..*)?", re.IGNORECASE | re.DOTALL
)
_SUFFIX: Final = re.compile(r"\.[a-z0-9]{1,12}", re.IGNORECASE)


def safe_name(name: str) -> str:
    """Return a file name that is safe on every system: one part of a path, visible, and not too long."""
    last = unicodedata.normalize("NFC", name).replace("\\", "/").rpartition("/")[2]
    visible = "".join(char for char in last if unicodedata.category(char) not in _INVISIBLE)
    plain = _UNSAFE.sub("_", visible).strip().strip("~.").rstrip()
    if not plain:
        return "file"
    if _RESERVED.fullmatch(plain):
        plain = f"_{plain}"
    suffix = suffix_of(plain)
    return plain[: len(plain) - len(suffix)][: _LONGEST - len(suffix)].rstrip() + suffix


def suffix_of(name: str) -> str:
    """Return the ending of a file name with its dot, or "" if it has none that is safe in a path."""
    _, dot, ending = name.rpartition(".")
    return f".{ending}" if dot and _SUFFIX.fullmatch(f".{ending}") else ""
