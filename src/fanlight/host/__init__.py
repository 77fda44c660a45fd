"""For people who build hosts: servers, sessions, policy, audit, the store and the web around them.

Names are loaded when first used, as those of `fanlight` are.
"""

from typing import TYPE_CHECKING

from fanlight.lazy_exports import lazily

if TYPE_CHECKING:
    from fanlight.host.call import Call as Call
    from fanlight.host.call import CallView as CallView
    from fanlight.host.consent.audit import json_line as json_line
    from fanlight.host.consent.consent import Question as Question
    from fanlight.host.consent.policy import Allow as Allow
    from fanlight.host.consent.policy import App as App
    from fanlight.host.consent.policy import Ask as Ask
    from fanlight.host.consent.policy import Decision as Decision
    from fanlight.host.consent.policy import Deny as Deny
    from fanlight.host.consent.policy import Policy as Policy
    from fanlight.host.consent.policy import PolicyError as PolicyError
    from fanlight.host.consent.policy import Rules as Rules
    from fanlight.host.host import Host as Host
    from fanlight.host.host import ModelTool as ModelTool
    from fanlight.host.limits import Limits as Limits
    from fanlight.host.profile import Profile as Profile
    from fanlight.host.store.base import AuditQuery as AuditQuery
    from fanlight.host.store.base import AuditRecord as AuditRecord
    from fanlight.host.store.base import Grant as Grant
    from fanlight.host.store.base import Store as Store
    from fanlight.host.store.base import ViewRecord as ViewRecord
    from fanlight.host.store.sqlite import SqliteStore as SqliteStore
    from fanlight.host.upstream.callbacks import Declined as Declined
    from fanlight.host.upstream.connection import BadAnswer as BadAnswer
    from fanlight.host.upstream.connection import CallTimeout as CallTimeout
    from fanlight.host.upstream.connection import ConnectionLost as ConnectionLost
    from fanlight.host.upstream.connection import NotConnected as NotConnected
    from fanlight.host.upstream.connection import ServerError as ServerError
    from fanlight.host.upstream.connection import Unfinished as Unfinished
    from fanlight.host.upstream.events import Status as Status
    from fanlight.host.views.app_tools import AppTool as AppTool
    from fanlight.host.views.registry import UnknownView as UnknownView
    from fanlight.host.views.session import RequestFailed as RequestFailed
    from fanlight.host.views.session import Timeouts as Timeouts

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
        "fanlight.host.views.app_tools": ["AppTool"],
        "fanlight.host.consent.audit": ["json_line"],
        "fanlight.host.call": ["Call", "CallView"],
        "fanlight.host.upstream.connection": [
            "BadAnswer",
            "CallTimeout",
            "ConnectionLost",
            "NotConnected",
            "ServerError",
            "Unfinished",
        ],
        "fanlight.host.consent.consent": ["Question"],
        "fanlight.host.host": ["Host", "ModelTool"],
        "fanlight.host.limits": ["Limits"],
        "fanlight.host.upstream.events": ["Status"],
        "fanlight.host.views.registry": ["UnknownView"],
        "fanlight.host.consent.policy": ["Allow", "App", "Ask", "Decision", "Deny", "Policy", "PolicyError", "Rules"],
        "fanlight.host.profile": ["Profile"],
        "fanlight.host.upstream.callbacks": ["Declined"],
        "fanlight.host.views.session": ["RequestFailed", "Timeouts"],
        "fanlight.host.store.base": ["AuditQuery", "AuditRecord", "Grant", "Store", "ViewRecord"],
        "fanlight.host.store.sqlite": ["SqliteStore"],
    },
)
