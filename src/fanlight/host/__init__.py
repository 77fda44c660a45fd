"""For people who build hosts: servers, sessions, the store and the web around them."""

from fanlight.host.call import Call
from fanlight.host.connection import ConnectionLost, ServerError, Unfinished
from fanlight.host.host import AppTool, Host, ModelTool, UnknownView
from fanlight.host.session import RequestFailed, Timeouts
from fanlight.host.store import SqliteStore, Store, ViewRecord

__all__ = [
    "AppTool",
    "Call",
    "ConnectionLost",
    "Host",
    "ModelTool",
    "RequestFailed",
    "ServerError",
    "SqliteStore",
    "Store",
    "Timeouts",
    "Unfinished",
    "UnknownView",
    "ViewRecord",
]
