"""OpenTelemetry spans for the requests of Views."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from opentelemetry.trace import (
    INVALID_SPAN,
    ProxyTracer,
    ProxyTracerProvider,
    Span,
    SpanKind,
    StatusCode,
    get_tracer,
    get_tracer_provider,
)

# The SDK's own tracer, so that a View's request and the server's part in it are one trace.
_tracer = get_tracer("mcp-python-sdk")
_OUTCOME: Final = "fanlight.outcome"
_NO_SPAN: Final = nullcontext(INVALID_SPAN)


def request_span(method: str, attributes: Mapping[str, str]) -> AbstractContextManager[Span]:
    """Return a span for a View's request, as a context manager."""
    if isinstance(_tracer, ProxyTracer) and isinstance(get_tracer_provider(), ProxyTracerProvider):
        return _NO_SPAN  # the program has not configured tracing, and a span that nobody records is not free
    return _tracer.start_as_current_span(method, kind=SpanKind.SERVER, attributes=attributes)


def mark_ok(span: Span) -> None:
    """Mark a request as carried out."""
    span.set_attribute(_OUTCOME, "ok")


def mark_asks(span: Span) -> None:
    """Mark a request about which the user is asked. Another span has its outcome."""
    span.set_attribute(_OUTCOME, "asks")


def mark_refused(span: Span, reason: str) -> None:
    """Mark a request as failed, with the reason that the View gets."""
    span.set_attribute(_OUTCOME, "refused")
    span.set_status(StatusCode.ERROR, reason)


def mark_crashed(span: Span, error: Exception) -> None:
    """Mark a request as failed by an unexpected exception of the host."""
    span.set_attribute(_OUTCOME, "error")
    span.record_exception(error)
    span.set_status(StatusCode.ERROR)
