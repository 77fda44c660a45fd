"""The names that authors of hosts use, each imported on first use."""

from typing import TYPE_CHECKING

from fanlight.lazy_exports import lazy_exports

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

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "call": ["Call", "CallView"],
        "consent.audit": ["json_line"],
        "consent.consent": ["Question"],
        "consent.policy": ["Allow", "App", "Ask", "Decision", "Deny", "Policy", "PolicyError", "Rules"],
        "host": ["Host", "ModelTool"],
        "limits": ["Limits"],
        "profile": ["Profile"],
        "store.base": ["AuditQuery", "AuditRecord", "Grant", "Store", "ViewRecord"],
        "store.sqlite": ["SqliteStore"],
        "upstream.callbacks": ["Declined"],
        "upstream.connection": [
            "BadAnswer",
            "CallTimeout",
            "ConnectionLost",
            "NotConnected",
            "ServerError",
            "Unfinished",
        ],
        "upstream.events": ["Status"],
        "views.app_tools": ["AppTool"],
        "views.registry": ["UnknownView"],
        "views.session": ["RequestFailed", "Timeouts"],
    },
)
