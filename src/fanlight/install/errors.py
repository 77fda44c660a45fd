"""Errors of `fanlight install`."""

from fanlight.protocol.errors import LocalError


class InstallError(LocalError):
    """The configuration of a host cannot be changed; the message says why."""


class DocumentError(InstallError):
    """A configuration file is not what a host reads, or cannot be edited as text."""
