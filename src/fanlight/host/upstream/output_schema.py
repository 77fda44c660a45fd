"""Validates untrusted values against untrusted JSON schemas."""

from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.validators import extend, validator_for
from referencing import Registry

# A hostile schema can make these run forever.
_IGNORED: Final = ("pattern", "patternProperties", "uniqueItems")


def find_mismatch(value: object, schema: dict[str, Any]) -> str | None:
    """Return how a value does not match a schema, as the end of a sentence, or None if it does. Fetches nothing."""
    try:
        known = validator_for(schema, default=Draft202012Validator)
        known.check_schema(schema)
        validator = extend(known, dict.fromkeys(_IGNORED, _ignore))
        error = next(iter(validator(schema, registry=Registry()).iter_errors(value)), None)
    except SchemaError as invalid:
        return f"has an output schema that is not a JSON Schema: {invalid.message[:300]}"
    except Exception as invalid:  # such as a reference to nothing, or nesting without end
        return f"has an output schema that cannot be used: {str(invalid)[:300]}"
    if error is None:
        return None
    path = "".join(f"[{part!r}]" for part in error.absolute_path)
    return f"does not match its output schema: structuredContent{path}: {error.message[:300]}"


def _ignore(*_: object) -> None:
    return None
