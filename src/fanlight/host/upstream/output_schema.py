"""Values and JSON schemas that come from somebody who is not trusted."""

from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.validators import extend, validator_for
from referencing import Registry

# These can be made to take forever.
_UNCHECKED: Final = ("pattern", "patternProperties", "uniqueItems")


def fault_of(value: object, schema: dict[str, Any]) -> str | None:
    """Say in what a value is not what a schema says, if it is not. Fetches nothing."""
    try:
        known = validator_for(schema, default=Draft202012Validator)
        known.check_schema(schema)
        validator = extend(known, dict.fromkeys(_UNCHECKED, _unchecked))
        error = next(iter(validator(schema, registry=Registry()).iter_errors(value)), None)
    except SchemaError as fault:
        return f"has an output schema that is none: {fault.message[:300]}"
    except Exception as fault:  # a reference that leads nowhere, nesting without end
        return f"has an output schema that cannot be used: {str(fault)[:300]}"
    if error is None:
        return None
    place = "".join(f"[{part!r}]" for part in error.absolute_path)
    return f"is not what its output schema says: structuredContent{place}: {error.message[:300]}"


def _unchecked(*_: object) -> None:
    return None
