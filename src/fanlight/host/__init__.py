"""For people who build hosts: servers, sessions, the store and the web around them."""

from fanlight.host.app_tools import AppTool, AppToolLimits
from fanlight.host.call import Call
from fanlight.host.connection import ConnectionLost, ServerError, Unfinished
from fanlight.host.host import Host, ModelTool
from fanlight.host.open_views import UnknownView
from fanlight.host.session import RequestFailed, Timeouts
from fanlight.host.store import SqliteStore, Store, ViewRecord

__all__ = [
    "AppTool",
    "AppToolLimits",
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
