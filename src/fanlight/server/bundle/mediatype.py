"""The media type of a file by its suffix, the same on every machine."""

import mimetypes
from pathlib import Path

_TYPES = {
    ".apng": "image/apng",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".gif": "image/gif",
    ".ico": "image/x-icon",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".jxl": "image/jxl",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
    ".aac": "audio/aac",
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
    ".mp3": "audio/mpeg",
    ".oga": "audio/ogg",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",
    ".wav": "audio/wav",
    ".weba": "audio/webm",
    ".m4v": "video/mp4",
    ".mov": "video/quicktime",
    ".mp4": "video/mp4",
    ".ogv": "video/ogg",
    ".webm": "video/webm",
    ".vtt": "text/vtt",
    ".cur": "image/x-icon",
}
# Not the functions of the module, which also read the files and registry of the operating system.
_OTHERS = mimetypes.MimeTypes()


def media_type(path: Path) -> str:
    """Return the media type for the suffix of a path, or `application/octet-stream` if it is unknown."""
    suffix = path.suffix.lower()
    return _TYPES.get(suffix) or _OTHERS.types_map[True].get(suffix) or "application/octet-stream"
