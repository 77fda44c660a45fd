"""The models that `--model` and the settings name."""

import os
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model

from fanlight.chat.scripted import scripted_model
from fanlight.protocol.errors import LocalError

SCRIPTED: Final = "scripted"
"""The name of the model that needs no key: it calls the tools by a script."""
OLLAMA: Final = "http://localhost:11434/v1"
"""The address of Ollama on this machine."""
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
}
"""The environment variables with the keys of the model services, by the name before the colon."""
NO_MODEL: Final = (
    "No model is set: write --model openai:gpt-5 and set OPENAI_API_KEY, or anthropic:… with ANTHROPIC_API_KEY, "
    f"google:… with GOOGLE_API_KEY, or --model NAME --base-url {OLLAMA} for Ollama."
)
OTHER_KEY: Final = "FANLIGHT_MODEL_KEY"
"""The environment variable with the key of the service at `--base-url`, if it needs one."""
_VARIABLE: Final = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
"""The name of an environment variable."""


class ModelError(LocalError):
    """A model cannot be used; the message says what to set."""


def create_model(name: str, base_url: str | None = None) -> Model:
    """Return the model with a name, such as "openai:gpt-5", or raise `ModelError`.

    Args:
        name: The service and the model, the name of a model at `base_url`, or "scripted".
        base_url: The address of an OpenAI-compatible service.
    """
    if name == SCRIPTED:
        return scripted_model()
    try:
        return _compatible_model(name, base_url) if base_url else _known_model(name)
    except ImportError as error:
        raise ModelError(f"{name} needs a package that is missing: pip install 'fanlight[chat]' ({error}).") from None


def _known_model(name: str) -> Model:
    service, _, model = name.partition(":")
    if not service or not model:
        raise ModelError(
            f"{name!r} is not a model: expected a service and a model, such as openai:gpt-5, anthropic:claude-sonnet-5 "
            f"or google:gemini-3-pro, or --base-url for the model {name!r} of another service. "
            "--model scripted needs none."
        )
    variables = KEYS.get(service, ())
    if variables and not any(os.environ.get(variable) for variable in variables):
        raise ModelError(f"{name} needs a key: set {variables[0]}, or try it without one: --model scripted.")
    try:
        return infer_model(name)
    except (UserError, ValueError) as error:
        raise ModelError(_explain(service, model, str(error))) from None


def _explain(service: str, model: str, reason: str) -> str:
    """Return what to write instead of a model that pydantic-ai rejects."""
    if service == "ollama":
        return f"For a model of Ollama, write --model {model} --base-url {OLLAMA}."
    if variable := _VARIABLE.search(reason):  # pydantic-ai knows more services, each with variables of its own
        return f"{service}:{model} needs {variable[0]} in the environment. --model scripted needs nothing."
    *others, last = (f"{known}:" for known in KEYS)
    return (
        f"'{service}:{model}' is not a model: expected one that begins with {', '.join(others)} or {last}, or --model "
        f"{model} --base-url URL for another service that is compatible with OpenAI, such as {OLLAMA} for Ollama. "
        "--model scripted needs none."
    )


def _compatible_model(name: str, base_url: str) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    address = urlsplit(base_url)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ModelError(f"--base-url is {base_url!r}, expected an address such as {OLLAMA}.")
    key = os.environ.get(OTHER_KEY)  # not OPENAI_API_KEY, which is for no other service
    return OpenAIChatModel(name, provider=OpenAICompatibleProvider(address.hostname, base_url=base_url, api_key=key))
