"""For people who build hosts: servers, sessions, policy, audit, the store and the web around them."""

from fanlight.host.app_tools import AppTool
from fanlight.host.audit import json_line
from fanlight.host.call import Call, CallView
from fanlight.host.connection import BadAnswer, CallTimeout, ConnectionLost, NotConnected, ServerError, Unfinished
from fanlight.host.gate import Question
from fanlight.host.host import Host, ModelTool
from fanlight.host.limits import Limits
from fanlight.host.news import Status
from fanlight.host.open_views import UnknownView
from fanlight.host.policy import Allow, App, Ask, Decision, Deny, Policy, PolicyError, Rules
from fanlight.host.profile import Profile
from fanlight.host.questions import Declined
from fanlight.host.session import RequestFailed, Timeouts
from fanlight.host.store import AuditQuery, AuditRecord, Grant, SqliteStore, Store, ViewRecord

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
