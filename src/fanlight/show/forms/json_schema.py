"""The JSON schema of a form: made for the form, read along a path, and changed for the model."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from fanlight.show.files.limits import FILE_LIMITS, MOST_FILES, size_text

Json = dict[str, Any]
Path = tuple[str | int, ...]

SECRET: Final = "password"  # noqa: S105  the format of fields that nobody else may read
FILE: Final = "file"
_FOR_MODEL_DEPTH: Final = 8
_ONLY_THE_USER: Final = "Only the user enters this, in the form. Leave it out."


class FormJsonSchema(GenerateJsonSchema):
    """Says what a form needs to know, and JSON Schema does not.

    That is: the places of a decimal, whether a zone counts, and which files are accepted.
    """

    def function_plain_schema(self, schema: core_schema.PlainValidatorFunctionSchema) -> JsonSchemaValue:
        limits = schema.get("metadata", {}).get(FILE_LIMITS)
        if limits is None:
            return super().function_plain_schema(schema)
        most = {"maxBytes": limits.max_bytes, "maxSize": size_text(limits.max_bytes)}
        return {"type": "string", "format": FILE, "accept": list(limits.accept), **most}

    def list_schema(self, schema: core_schema.ListSchema) -> JsonSchemaValue:
        made = super().list_schema(schema)
        return {"maxItems": MOST_FILES, **made} if made["items"].get("format") == FILE else made

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        made: Json = {"type": "number", "format": "decimal"}
        for key, name in (
            ("ge", "minimum"),
            ("le", "maximum"),
            ("gt", "exclusiveMinimum"),
            ("lt", "exclusiveMaximum"),
            ("multiple_of", "multipleOf"),
        ):
            if (limit := schema.get(key)) is not None:
                number = float(limit)  # type: ignore[arg-type]
                made[name] = int(number) if number.is_integer() else number
        if (places := schema.get("decimal_places")) is not None:
            made["decimalPlaces"] = places
        return made

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        made = super().datetime_schema(schema)
        return {**made, "zoned": True} if schema.get("tz_constraint") == "aware" else made


def resolved(schema: Any, root: Json) -> Json:
    """Return a schema with its references followed."""
    current = schema if isinstance(schema, dict) else {}
    for _ in range(20):
        reference = current.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
            break
        siblings = {key: value for key, value in current.items() if key != "$ref"}
        current = {**root.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {}), **siblings}
    return current


def variants(schema: Json, root: Json) -> list[Json]:
    """Return the schemas that a value may have, without null."""
    union = schema.get("oneOf") or schema.get("anyOf")
    if not isinstance(union, list):
        return [schema]
    found = [resolved(each, root) for each in union]
    return [each for each in found if each.get("type") != "null"]


def is_secret(schema: Json, root: Json) -> bool:
    """Return whether a value of a schema is a secret, such as a `SecretStr`."""
    return any(each.get("format") == SECRET for each in variants(resolved(schema, root), root))


def is_file(schema: Json, root: Json) -> bool:
    """Return whether a value of a schema is a file, or a list of them."""
    options = variants(resolved(schema, root), root)
    items = [one for each in options for one in variants(resolved(each.get("items"), root), root)]
    return any(each.get("format") == FILE for each in (*options, *items))


def file_schemas(schema: Any) -> Iterator[Json]:
    """Return the schemas of files in a schema, at any depth."""
    if isinstance(schema, dict):
        if schema.get("format") == FILE and "maxBytes" in schema:
            yield schema
        schema = list(schema.values())
    if isinstance(schema, list):
        for each in schema:
            yield from file_schemas(each)


def form_path(location: Iterable[str | int], root: Json) -> Path:
    """Return the path in the form of a location in an error of pydantic, which also names the variants of unions."""
    path: list[str | int] = []
    candidates = [root]
    for step in location:
        candidates = [resolved(each, root) for each in candidates]
        mapping = next(
            (each["discriminator"].get("mapping", {}) for each in candidates if "discriminator" in each), None
        )
        if mapping is not None:
            candidates = [resolved({"$ref": mapping[str(step)]}, root)] if str(step) in mapping else []
            continue
        options = [option for each in candidates for option in variants(each, root)]
        below = [found for each in options if (found := _step(each, step)) is not None]
        if below:
            path.append(step)
            candidates = below
        else:  # the name of a variant, or of a function that validates
            named = [each for each in options if each.get("title") == step]
            candidates = named or options
    return tuple(path)


def schemas_at(path: Path, root: Json) -> list[Json]:
    """Return the schemas that the field at a path may have; none if there is no such field."""
    candidates = [root]
    for step in path:
        options = [option for each in candidates for option in variants(each, root)]
        candidates = [resolved(found, root) for each in options if (found := _step(each, step)) is not None]
    return candidates


def _step(schema: Json, step: str | int) -> Any:
    if isinstance(step, int):
        prefix = schema.get("prefixItems", [])
        return prefix[step] if step < len(prefix) else schema.get("items")
    properties = schema.get("properties", {})
    if step in properties:
        return properties[step]
    extra = schema.get("additionalProperties")
    return extra if isinstance(extra, dict) and not step.startswith("[") else None


def for_model(schema: Any, root: Json, depth: int = 0) -> Json:
    """Return a schema for the tool that opens the form: without references, secrets and files."""
    found = resolved(schema, root)
    if is_secret(found, root):
        about = {key: found[key] for key in ("title",) if key in found}
        return {**about, "type": "null", "description": _ONLY_THE_USER}
    if depth >= _FOR_MODEL_DEPTH:
        return {key: found[key] for key in ("type", "title", "description") if key in found}
    made: Json = {}
    for key, value in found.items():
        # Whatever the model leaves out, also in nested objects, the user fills in.
        if key in ("decimalPlaces", "zoned", "discriminator", "$defs", "required"):
            continue
        if key == "properties":
            made[key] = {
                name: for_model(each, root, depth + 1) for name, each in value.items() if not is_file(each, root)
            }
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            made[key] = for_model(value, root, depth + 1)
        elif key in ("oneOf", "anyOf", "prefixItems") and isinstance(value, list):
            made[key] = [for_model(each, root, depth + 1) for each in value]
        elif key == "format" and value in ("decimal", "textarea"):
            continue
        elif key == "default" and found.get("format") == "decimal" and isinstance(value, str):
            made[key] = float(value)
        else:
            made[key] = value
    return made


def for_others(value: Any, schema: Any, root: Json, files: Mapping[str, str]) -> Any:
    """Return a value without secrets and unknown fields, and with texts in place of the ids of files.

    A file that has no text is left out.
    """
    return _walk(value, [resolved(schema, root)], root, files)


def _walk(value: Any, schemas: list[Json], root: Json, files: Mapping[str, str]) -> Any:
    options = [option for each in schemas for option in variants(each, root)]
    if isinstance(value, Mapping):
        kept = {}
        for name, each in value.items():
            below = [resolved(found, root) for option in options if (found := _step(option, str(name))) is not None]
            if any(is_file(one, root) for one in below):
                if text := _file_text(each, files):
                    kept[name] = text
            elif (below or not any(map(_is_closed, options))) and not any(is_secret(one, root) for one in below):
                kept[name] = _walk(each, below, root, files)
        return kept
    if isinstance(value, list):
        below = [resolved(found, root) for option in options if (found := _step(option, 0)) is not None]
        if any(is_secret(one, root) for one in below):
            return []
        if any(is_file(one, root) for one in below):
            return [_file_text(each, files) for each in value]
        return [_walk(each, below, root, files) for each in value]
    return value


def _is_closed(schema: Json) -> bool:
    """Return whether a schema has fields, and values keep no others."""
    return bool(schema.get("properties")) and not schema.get("additionalProperties")


def _file_text(value: Any, files: Mapping[str, str]) -> str:
    ids = value if isinstance(value, list) else [value]
    return ", ".join(files[id] for id in ids if isinstance(id, str) and id in files)


def at_path(value: Any, path: Path) -> bool:
    """Return whether a value has something at a path."""
    for step in path:
        if isinstance(value, list):
            if not isinstance(step, int) or not 0 <= step < len(value):
                return False
        elif not isinstance(value, Mapping) or step not in value:
            return False
        key: Any = step
        value = value[key]
    return True
