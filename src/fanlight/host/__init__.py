"""The names that authors of hosts use, each imported on first use."""

from typing import TYPE_CHECKING

from fanlight.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from fanlight.host.bus.base import Bus as Bus
    from fanlight.host.bus.redis import RedisBus as RedisBus
    from fanlight.host.calls.call import Call as Call
    from fanlight.host.calls.model_tools import ModelTool as ModelTool
    from fanlight.host.calls.runner import CallView as CallView
    from fanlight.host.calls.turn import Turn as Turn
    from fanlight.host.consent.audit import json_line as json_line
    from fanlight.host.consent.policy import Allow as Allow
    from fanlight.host.consent.policy import App as App
    from fanlight.host.consent.policy import Ask as Ask
    from fanlight.host.consent.policy import Decision as Decision
    from fanlight.host.consent.policy import Deny as Deny
    from fanlight.host.consent.policy import Policy as Policy
    from fanlight.host.consent.policy import Rules as Rules
    from fanlight.host.consent.question import Question as Question
    from fanlight.host.consent.question import ViewRequest as ViewRequest
    from fanlight.host.conversation import ContextUpdate as ContextUpdate
    from fanlight.host.conversation import Conversation as Conversation
    from fanlight.host.errors import BusError as BusError
    from fanlight.host.errors import CallCancelledError as CallCancelledError
    from fanlight.host.errors import CallTimeoutError as CallTimeoutError
    from fanlight.host.errors import ConfigError as ConfigError
    from fanlight.host.errors import ConnectionLostError as ConnectionLostError
    from fanlight.host.errors import CredentialsRejectedError as CredentialsRejectedError
    from fanlight.host.errors import DeclinedError as DeclinedError
    from fanlight.host.errors import InvalidResponseError as InvalidResponseError
    from fanlight.host.errors import NotConnectedError as NotConnectedError
    from fanlight.host.errors import PolicyError as PolicyError
    from fanlight.host.errors import RequestError as RequestError
    from fanlight.host.errors import ServerError as ServerError
    from fanlight.host.errors import SignInRequiredError as SignInRequiredError
    from fanlight.host.errors import StoreError as StoreError
    from fanlight.host.errors import UnknownServerError as UnknownServerError
    from fanlight.host.errors import UnknownToolError as UnknownToolError
    from fanlight.host.errors import UnknownViewError as UnknownViewError
    from fanlight.host.errors import WorkerLostError as WorkerLostError
    from fanlight.host.handlers import Message as Message
    from fanlight.host.handlers import SamplingRequest as SamplingRequest
    from fanlight.host.host import Host as Host
    from fanlight.host.settings import Limits as Limits
    from fanlight.host.settings import Profile as Profile
    from fanlight.host.settings import Retention as Retention
    from fanlight.host.settings import Timeouts as Timeouts
    from fanlight.host.store.base import AuditQuery as AuditQuery
    from fanlight.host.store.base import AuditRecord as AuditRecord
    from fanlight.host.store.base import Changed as Changed
    from fanlight.host.store.base import ErasedView as ErasedView
    from fanlight.host.store.base import Grant as Grant
    from fanlight.host.store.base import OfferedTools as OfferedTools
    from fanlight.host.store.base import Selection as Selection
    from fanlight.host.store.base import Store as Store
    from fanlight.host.store.base import StoredContext as StoredContext
    from fanlight.host.store.base import StoredDocument as StoredDocument
    from fanlight.host.store.base import UnfinishedCall as UnfinishedCall
    from fanlight.host.store.base import ViewRecord as ViewRecord
    from fanlight.host.store.base import ViewSummary as ViewSummary
    from fanlight.host.store.memory import MemoryStore as MemoryStore
    from fanlight.host.store.postgres import PostgresStore as PostgresStore
    from fanlight.host.store.redis import RedisStore as RedisStore
    from fanlight.host.store.sqlite import SqliteStore as SqliteStore
    from fanlight.host.upstream.auth.oauth import OAuthClient as OAuthClient
    from fanlight.host.upstream.auth.oauth import UserOAuth as UserOAuth
    from fanlight.host.upstream.auth.sign_in import SignIn as SignIn
    from fanlight.host.upstream.callbacks import ServerRequest as ServerRequest
    from fanlight.host.upstream.events import Status as Status
    from fanlight.host.views.info import ViewInfo as ViewInfo

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "bus.base": ["Bus"],
        "bus.redis": ["RedisBus"],
        "calls.call": ["Call"],
        "calls.model_tools": ["ModelTool"],
        "calls.runner": ["CallView"],
        "calls.turn": ["Turn"],
        "consent.audit": ["json_line"],
        "consent.policy": ["Allow", "App", "Ask", "Decision", "Deny", "Policy", "Rules"],
        "consent.question": ["Question", "ViewRequest"],
        "conversation": ["ContextUpdate", "Conversation"],
        "errors": [
            "BusError",
            "CallCancelledError",
            "CallTimeoutError",
            "ConfigError",
            "ConnectionLostError",
            "CredentialsRejectedError",
            "DeclinedError",
            "InvalidResponseError",
            "NotConnectedError",
            "PolicyError",
            "RequestError",
            "ServerError",
            "SignInRequiredError",
            "StoreError",
            "UnknownServerError",
            "UnknownToolError",
            "UnknownViewError",
            "WorkerLostError",
        ],
        "handlers": ["Message", "SamplingRequest"],
        "host": ["Host"],
        "settings": ["Limits", "Profile", "Retention", "Timeouts"],
        "store.base": [
            "AuditQuery",
            "AuditRecord",
            "Changed",
            "ErasedView",
            "Grant",
            "OfferedTools",
            "Selection",
            "Store",
            "StoredContext",
            "StoredDocument",
            "UnfinishedCall",
            "ViewRecord",
            "ViewSummary",
        ],
        "store.memory": ["MemoryStore"],
        "store.postgres": ["PostgresStore"],
        "store.redis": ["RedisStore"],
        "store.sqlite": ["SqliteStore"],
        "upstream.callbacks": ["ServerRequest"],
        "upstream.events": ["Status"],
        "upstream.auth.oauth": ["OAuthClient", "UserOAuth"],
        "upstream.auth.sign_in": ["SignIn"],
        "views.info": ["ViewInfo"],
    },
    {
        "orjson": "host",
        "redis": "redis",
        "psycopg": "postgres",
        "psycopg_pool": "postgres",
    },
)
