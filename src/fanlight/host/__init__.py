"""For people who build hosts: servers, sessions, policy, audit, the store and the web around them.

Names are loaded when first used, as those of `fanlight` are.
"""

from typing import TYPE_CHECKING

from fanlight.lazily import lazily

if TYPE_CHECKING:
    from fanlight.host.app_tools import AppTool as AppTool
    from fanlight.host.audit import json_line as json_line
    from fanlight.host.call import Call as Call
    from fanlight.host.call import CallView as CallView
    from fanlight.host.connection import BadAnswer as BadAnswer
    from fanlight.host.connection import CallTimeout as CallTimeout
    from fanlight.host.connection import ConnectionLost as ConnectionLost
    from fanlight.host.connection import NotConnected as NotConnected
    from fanlight.host.connection import ServerError as ServerError
    from fanlight.host.connection import Unfinished as Unfinished
    from fanlight.host.gate import Question as Question
    from fanlight.host.host import Host as Host
    from fanlight.host.host import ModelTool as ModelTool
    from fanlight.host.limits import Limits as Limits
    from fanlight.host.news import Status as Status
    from fanlight.host.open_views import UnknownView as UnknownView
    from fanlight.host.policy import Allow as Allow
    from fanlight.host.policy import App as App
    from fanlight.host.policy import Ask as Ask
    from fanlight.host.policy import Decision as Decision
    from fanlight.host.policy import Deny as Deny
    from fanlight.host.policy import Policy as Policy
    from fanlight.host.policy import PolicyError as PolicyError
    from fanlight.host.policy import Rules as Rules
    from fanlight.host.profile import Profile as Profile
    from fanlight.host.questions import Declined as Declined
    from fanlight.host.session import RequestFailed as RequestFailed
    from fanlight.host.session import Timeouts as Timeouts
    from fanlight.host.store import AuditQuery as AuditQuery
    from fanlight.host.store import AuditRecord as AuditRecord
    from fanlight.host.store import Grant as Grant
    from fanlight.host.store import SqliteStore as SqliteStore
    from fanlight.host.store import Store as Store
    from fanlight.host.store import ViewRecord as ViewRecord

__all__ = [
    "Allow",
    "App",
    "AppTool",
    "Ask",
    "AuditQuery",
    "AuditRecord",
    "BadAnswer",
    "Call",
    "CallTimeout",
    "CallView",
    "ConnectionLost",
    "Decision",
    "Declined",
    "Deny",
    "Grant",
    "Host",
    "Limits",
    "ModelTool",
    "NotConnected",
    "Policy",
    "PolicyError",
    "Profile",
    "Question",
    "RequestFailed",
    "Rules",
    "ServerError",
    "SqliteStore",
    "Status",
    "Store",
    "Timeouts",
    "Unfinished",
    "UnknownView",
    "ViewRecord",
    "json_line",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "fanlight.host.app_tools": ["AppTool"],
        "fanlight.host.audit": ["json_line"],
        "fanlight.host.call": ["Call", "CallView"],
        "fanlight.host.connection": [
            "BadAnswer",
            "CallTimeout",
            "ConnectionLost",
            "NotConnected",
            "ServerError",
            "Unfinished",
        ],
        "fanlight.host.gate": ["Question"],
        "fanlight.host.host": ["Host", "ModelTool"],
        "fanlight.host.limits": ["Limits"],
        "fanlight.host.news": ["Status"],
        "fanlight.host.open_views": ["UnknownView"],
        "fanlight.host.policy": ["Allow", "App", "Ask", "Decision", "Deny", "Policy", "PolicyError", "Rules"],
        "fanlight.host.profile": ["Profile"],
        "fanlight.host.questions": ["Declined"],
        "fanlight.host.session": ["RequestFailed", "Timeouts"],
        "fanlight.host.store": ["AuditQuery", "AuditRecord", "Grant", "SqliteStore", "Store", "ViewRecord"],
    },
)
