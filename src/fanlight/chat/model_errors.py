"""What the page says when a model does not answer as it should: one sentence with the address, and what to do."""

from typing import Final
from urllib.parse import urlsplit

from pydantic_ai import ModelMessage, ModelResponse
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
)

from fanlight.chat.models import KEYS, OTHER_KEY
from fanlight.protocol.errors import sentence

CUT_SHORT: Final = "The stream ended without a finish_reason: the answer may be incomplete."
TOO_LONG: Final = "The model reached its limit of tokens: the answer is incomplete."

_V1: Final = "Check the address: it often ends with /v1."
_MAX_REASON: Final = 500
_REJECTED: Final = (401, 403)
_NOT_FOUND: Final = 404


def explain(error: AgentRunError, *, model: str, address: str, is_compatible: bool, timeout: float) -> str:
    """Return why a turn has failed, and what the user can do.

    Args:
        error: What the agent raised.
        model: The name of the model, such as "openai:gpt-5".
        address: The base URL of the service.
        is_compatible: Whether the address is one that the user gave, of an OpenAI-compatible service.
        timeout: How many seconds the service may be silent.
    """
    address = address.rstrip("/") or model
    match error:
        case ModelConnectionError(phase="connect"):
            return f"Nothing answers at {address}. Is the service running?"
        case ModelTimeoutError():
            return f"{address} was silent for {timeout:g} s. Try again, or give it more time with --timeout."
        case ModelConnectionError():
            return f"{address} closed the connection before the answer was complete. Try again, or see its log."
        case ModelHTTPError():
            return _explain_status(error, model, address, is_compatible)
        case ModelAPIError() if isinstance(error.__cause__, ValueError):
            return f"{address} sent a stream that is not valid JSON. Is it compatible with OpenAI? {_V1}"
        case ModelAPIError():
            return f"{address} reported an error: {_sentence(error.message)} Try again."
        case UnexpectedModelBehavior():
            hint = f" {_V1}" if is_compatible else ""
            return f"{address} sent no answer of a model. {_sentence(error.message)}{hint}"
    return _sentence(str(error))


def note(messages: list[ModelMessage], *, is_compatible: bool) -> str | None:
    """Return what the user should know about an answer that ended without an error, or None."""
    last = messages[-1] if messages else None
    if not isinstance(last, ModelResponse):
        return None
    if last.finish_reason == "length":
        return TOO_LONG
    # pydantic-ai fills in a finish_reason that was missing, but not among what the service sent.
    is_cut = is_compatible and last.finish_reason == "stop" and "finish_reason" not in (last.provider_details or {})
    return CUT_SHORT if is_cut else None


def _explain_status(error: ModelHTTPError, model: str, address: str, is_compatible: bool) -> str:
    reason = _sentence(_reason(error))
    answered = f"{address} answered with HTTP {error.status_code}: {reason}"
    if error.status_code in _REJECTED:
        names = (OTHER_KEY,) if is_compatible else KEYS.get(model.partition(":")[0], ())
        return f"{answered} Check the key in {names[0] if names else 'the environment'}, and start fanlight chat again."
    if error.status_code == _NOT_FOUND:
        if is_compatible and not urlsplit(address).path.endswith("/v1"):
            return f"{answered} {_V1}"
        return f"{answered} Does it have the model {error.model_name}? Choose another in the settings."
    return answered


def _reason(error: ModelHTTPError) -> str:
    """Return the message in the body of an error, whose shape each service decides."""
    body = error.body
    if isinstance(body, dict):
        inner = body.get("error")
        body = (inner if isinstance(inner, dict) else body).get("message") or inner or body.get("detail")
    return str(body or "no reason")


def _sentence(text: str) -> str:
    return sentence(text, _MAX_REASON)
