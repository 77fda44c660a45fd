"""Serves the requests of Views that a front end shows in its own way: with the policy, consent, limits and audit."""

import logging
from collections import OrderedDict
from time import monotonic
from typing import Final

from fanlight.host.consent.consent import NOBODY, Consent
from fanlight.host.errors import (
    STORE_UNAVAILABLE,
    CallCancelledError,
    RequestError,
    StoreError,
    UnknownServerError,
)
from fanlight.host.json_text import encode_json
from fanlight.host.relay.documents import RelayedDocuments
from fanlight.host.settings import Limits
from fanlight.host.store.base import ViewRecord
from fanlight.host.tasks import HostTasks
from fanlight.host.upstream.servers import Servers
from fanlight.host.views.audit_trail import AuditTrail
from fanlight.host.views.page.frames import Answer, AskUser
from fanlight.host.views.rate_limit import RateLimit
from fanlight.host.views.records import app_of
from fanlight.host.views.requests.handler import ViewRequests
from fanlight.host.views.requests.message import ViewMessage
from fanlight.host.views.requests.tracing import mark_crashed, mark_ok, mark_refused, request_span
from fanlight.host.views.session_factory import SessionFactory, span_labels
from fanlight.protocol import events, jsonrpc
from fanlight.protocol.bridge import Bridge
from fanlight.protocol.jsonrpc import INTERNAL_ERROR, METHOD_NOT_FOUND, JSONObject

logger = logging.getLogger(__name__)

READ_DOCUMENT: Final = "mcp-apps/read-resource"
"""The request for the document of a View. It comes from the front end, not from the View."""

_MAX_VIEWS: Final = 10_000
"""Of how many Views the limits and the answers of users are kept. Beyond that, the least recently used are dropped."""
_ID: Final = 1
_HELLO: Final = {"protocolVersion": "2026-01-26", "appInfo": {"name": "relay", "version": "1"}, "appCapabilities": {}}
_CANNOT_ASK: Final = (
    "This needs the user's consent, and this page cannot ask for it. The program can ask, with Host.on_question, or "
    "allow it with its policy."
)


class TooManyRequestsError(RequestError):
    """A View exceeds a limit."""


class RelayedView:
    """A View whose front end has no dialog of ours: the program is asked, or the answer is no."""

    attached = False

    def __init__(self, record: ViewRecord) -> None:
        self.app = app_of(record)
        self.id = record.id

    async def question(self, question: AskUser) -> Answer | None:
        return None


class _Usage:
    """How much a View uses."""

    def __init__(self, rate: RateLimit) -> None:
        self.rate = rate
        self.in_flight = 0


class RelayService:
    """Serves the requests of Views without sessions. Whoever calls it has checked that the View is the user's."""

    def __init__(
        self,
        servers: Servers,
        sessions: SessionFactory,
        requests: ViewRequests,
        documents: RelayedDocuments,
        consent: Consent,
        log: AuditTrail,
        tasks: HostTasks,
        limits: Limits,
    ) -> None:
        self._servers = servers
        self._sessions = sessions
        self._requests = requests
        self._documents = documents
        self._consent = consent
        self._log = log
        self._tasks = tasks
        self._limits = limits
        self._usage: OrderedDict[str, _Usage] = OrderedDict()

    async def serve(self, record: ViewRecord, method: str, params: JSONObject, size: int | None = None) -> JSONObject:
        """Return the result of a request of a View. Raise RequestError if it fails or is refused.

        Args:
            record: The View.
            method: A method that a View may send to its host, or `READ_DOCUMENT`.
            params: The params of the request.
            size: The bytes of the request, for the audit.
        """
        self._tasks.check_running()
        size = len(encode_json(params)) if size is None else size
        message = ViewMessage(jsonrpc.request(_ID, method, params), size, monotonic())
        usage = self._usage_of(record.id, message.received_at)
        if (excess := self._excess(usage, message)) is not None:
            self._log.log_rejected(app_of(record), message, excess)
            raise TooManyRequestsError(excess)
        usage.in_flight += 1
        try:
            return await self._respond(record, message)
        finally:
            usage.in_flight -= 1

    def _usage_of(self, view: str, now: float) -> _Usage:
        usage = self._usage.pop(view, None) or _Usage(RateLimit(self._limits.messages_per_second, now))
        self._usage[view] = usage
        while len(self._usage) > _MAX_VIEWS:
            oldest, _ = self._usage.popitem(last=False)
            self._consent.forget(oldest)
        return usage

    def _excess(self, usage: _Usage, message: ViewMessage) -> str | None:
        """Return which limit a request exceeds, or None."""
        limits = self._limits
        if message.size > limits.message_bytes:
            return f"The request has {message.size:,} bytes, and at most {limits.message_bytes:,} are allowed."
        if not usage.rate.take(message.received_at):
            return f"This View exceeds the limit of {limits.messages_per_second:g} messages per second."
        if usage.in_flight >= limits.requests_in_flight:
            return f"This View has {limits.requests_in_flight} requests without a response, which is the limit."
        return None

    async def _respond(self, record: ViewRecord, message: ViewMessage) -> JSONObject:
        """Serve a request, and record its outcome before it is returned."""
        with request_span(message.method, {"fanlight.view": record.id, **span_labels(record)}) as span:
            failed: RequestError | None = None
            result: JSONObject = {}
            try:
                result = await self._result(record, message)
                text = encode_json(result)
                if len(text) > self._limits.result_characters:
                    raise RequestError(
                        f"The result has {len(text):,} characters, and at most "
                        f"{self._limits.result_characters:,} are allowed."
                    )
                mark_ok(span)
            except RequestError as error:
                failed = RequestError(_CANNOT_ASK) if str(error) == NOBODY else error
                mark_refused(span, failed.reason)
            except StoreError as error:
                logger.warning("View %s: a request failed with the store: %s", record.id, error)
                mark_crashed(span, error)
                failed = RequestError(STORE_UNAVAILABLE, INTERNAL_ERROR)
            except Exception as error:
                logger.exception("View %s: unhandled error while serving a request", record.id)
                mark_crashed(span, error)
                failed = RequestError("The host failed to answer.", INTERNAL_ERROR)
        if failed is None:
            response = jsonrpc.result(_ID, result)
        else:
            message.failure = failed.reason
            response = jsonrpc.error(_ID, failed.code, str(failed), failed.data)
        await self._log.log_response(app_of(record), message, response, len(encode_json(response)))
        if failed is not None:
            raise failed
        return result

    async def _result(self, record: ViewRecord, message: ViewMessage) -> JSONObject:
        if message.method == READ_DOCUMENT:
            return await self._documents.load(record)
        try:
            await (await self._servers.connect(record.server, record.user)).ready()
        except CallCancelledError as error:
            raise RequestError(error.user_message, reason=str(error)) from None
        except UnknownServerError as error:  # the program has another configuration than when the View was opened
            raise RequestError(str(error)) from None
        # A bridge for one request, so that it is validated as one of a View in a page is: VIS-03, VIS-04, dialects.
        bridge = self._sessions.bridge(record)
        bridge.receive(jsonrpc.request(0, "ui/initialize", _HELLO))
        bridge.receive(jsonrpc.notification("ui/notifications/initialized", {}))
        list(bridge.outgoing())
        event = bridge.receive(jsonrpc.request(_ID, message.method, message.params))
        return await self._handle(RelayedView(record), event, bridge)

    async def _handle(self, view: RelayedView, event: events.Event | None, bridge: Bridge) -> JSONObject:
        match event:
            case events.ToolCalled(name=name, arguments=arguments):
                return await self._requests.call_tool(view, name, arguments, _ignore_progress)
            case events.ServerRequested(method=method, params=params):
                return await self._requests.ask_server(view, method, params)
            case events.SamplingRequested(params=params):
                return await self._requests.sample(view, params)
            case events.MessageRequested(role=role, content=content):
                await self._requests.add_message(view, role, content)
            case events.ContextUpdated(content=content, structured=structured):
                update: JSONObject = {"content": list(content)}
                if structured is not None:
                    update["structuredContent"] = structured
                await self._requests.update_relayed_context(view, update)
            case events.LinkRequested(url=url):
                await self._requests.check_link(view, url)
            case None | events.Rejected():
                return _answer(bridge)
            case _:
                raise RequestError("Only <mcp-app> can do this for a View.", METHOD_NOT_FOUND)
        return {}


def _answer(bridge: Bridge) -> JSONObject:
    """Return what the bridge itself answers to a request, or raise its error."""
    for answer in bridge.outgoing():
        if answer.get("id") == _ID:
            if (error := answer.get("error")) is not None:
                raise RequestError(error["message"], error["code"], error.get("data"))
            result: JSONObject = answer["result"]
            return result
    return {}


async def _ignore_progress(progress: float, total: float | None, message: str | None) -> None:
    """Drop the progress of a call: the contracts of front ends have no message for it."""
