"""The fields of a form, from the parameters of a function: their schema, and what is wrong with some values."""

import dataclasses
import inspect
import keyword
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final

import pydantic_core
from mcp_types import CallToolResult
from pydantic import BaseModel, Field, TypeAdapter, ValidationError, WithJsonSchema, WrapValidator, create_model
from typing_extensions import is_typeddict

from fanlight.protocol.errors import RegistrationError
from fanlight.show.files.limits import FileLimits, size_text
from fanlight.show.files.uploaded_file import TAKEN_FILES, TakesFiles, UploadedFile
from fanlight.show.forms.field_error import FieldError
from fanlight.show.forms.json_schema import (
    FormJsonSchema,
    Json,
    Path,
    at_path,
    file_schemas,
    for_model,
    for_others,
    form_path,
    is_file,
    is_secret,
    resolved,
    schemas_at,
)
from fanlight.show.forms.reasons import reason_of, sentence_of

UNSET: Final = object()
"""Stands for a field that the model left out."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """What is wrong, and at which field. An empty path is the whole form."""

    path: Path
    message: str
    """A sentence, or the end of one that begins with the name of the field."""
    is_sentence: bool = True
    is_missing: bool = False

    def wire(self) -> Json:
        return {"path": list(self.path), "message" if self.is_sentence else "reason": self.message}

    def text(self) -> str:
        name = ".".join(map(str, self.path))
        return f"{name}{': ' if self.is_sentence else ' '}{self.message}" if name else self.message


class Fields:
    """The fields of the form of one function.

    If the function has one parameter, and that is a pydantic model, a dataclass or a TypedDict, the fields of that are
    those of the form. Otherwise each parameter is a field.
    """

    def __init__(self, tool: str, parameters: Sequence[inspect.Parameter]) -> None:
        self._tool = tool
        for parameter in parameters:
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise RegistrationError(
                    f"{tool}() has the parameter {parameter}. The fields of a form are parameters with a name of their "
                    "own."
                )
            if parameter.annotation is parameter.empty:
                raise RegistrationError(
                    f"The parameter {parameter.name} of {tool}() has no annotation, so its field is not known. "
                    f"Write {parameter.name}: str, for example."
                )
        self._whole = parameters[0].name if len(parameters) == 1 and _has_fields(parameters[0].annotation) else None
        self._names = {f"field_{index}": parameter.name for index, parameter in enumerate(parameters)}
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(
                parameters[0].annotation if self._whole else _model(tool, parameters)
            )
            made = self._adapter.json_schema(schema_generator=FormJsonSchema)
        except Exception as error:  # whatever pydantic or an annotated class raises
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise RegistrationError(
                f"The parameters of {tool}() have no JSON schema ({reason}). A form needs pydantic models, "
                "dataclasses, TypedDicts and values that JSON can represent."
            ) from None
        definitions = made.get("$defs", {})
        self.schema: Json = {**resolved(made, made), "$defs": definitions} if "$ref" in made else made
        self.targets: dict[FileLimits, str] = {}
        """Where the files of the form are uploaded to. Files with the same limits share a target."""
        for file in file_schemas(self.schema):
            limits = FileLimits(file["accept"], file["maxBytes"])
            file["target"] = self.targets.setdefault(limits, f"form:{tool}:{len(self.targets)}")
        if not self.schema.get("properties"):
            raise RegistrationError(f"{tool}() has no fields to fill in. For a tool without a form, use @apps.tool().")

    def signature(self, context: tuple[str, type] | None) -> tuple[inspect.Signature, dict[str, str]]:
        """Return the signature of the tool that opens the form, and the field of each of its parameters.

        Every field is optional, and every value is accepted: what is wrong is shown in the form.
        """
        parameters, fields = [], {}
        for index, (name, schema) in enumerate(self.schema["properties"].items()):
            if is_file(schema, self.schema):
                continue
            is_plain = name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")
            parameter = name if is_plain else f"field_{index}"
            fields[parameter] = fields[name] = name
            shown = for_model(schema, self.schema)
            # MCPServer parses texts as JSON, except in parameters that are texts.
            kind: Any = str if shown.get("type") == "string" else Any
            about = [WrapValidator(_accept), WithJsonSchema(shown), *([] if is_plain else [Field(alias=name)])]
            parameters.append(
                inspect.Parameter(
                    parameter,
                    inspect.Parameter.KEYWORD_ONLY,
                    annotation=Annotated[(kind, *about)],
                    default=Field(default_factory=lambda: UNSET),
                )
            )
        if context is not None:
            parameters.append(
                inspect.Parameter(context[0], inspect.Parameter.KEYWORD_ONLY, annotation=context[1], default=None)
            )
        return inspect.Signature(parameters, return_annotation=CallToolResult), fields

    def arguments(self, values: Mapping[str, Any], files: TakesFiles | None = None) -> dict[str, Any]:
        """Return the arguments of the function for the values of a form, or raise pydantic's ValidationError."""
        # As JSON, because that is what they are: a strict model takes a date as text only in JSON.
        made = self._adapter.validate_json(pydantic_core.to_json(values), context={TAKEN_FILES: files})
        if self._whole:
            return {self._whole: made}
        return {name: getattr(made, field) for field, name in self._names.items()}

    def problems(self, error: Exception) -> list[Problem]:
        """Return what is wrong, by an error that validation or the function raised."""
        if isinstance(error, FieldError):
            steps = tuple(int(step) if step.isdecimal() else step for step in error.field.split("."))
            for path in ((error.field,), steps):  # a name may have a dot
                if schemas_at(path, self.schema):
                    return [Problem(path, error.message)]
            return [Problem((), f"{error.field}: {error.message}")]
        if not isinstance(error, ValidationError):
            return [Problem((), str(error) or type(error).__name__)]
        found: dict[Path, Problem] = {}
        for each in error.errors(include_url=False, include_input=False):
            path = form_path(each["loc"], self.schema)
            reason = reason_of(each) if path else None
            missing = each["type"] == "missing"
            # Of the variants of a union, the first one has to do.
            found.setdefault(path, Problem(path, reason or sentence_of(each), reason is None, missing))
        return list(found.values())

    def check(self, values: Mapping[str, Any]) -> list[Problem]:
        """Return what is wrong with some values."""
        try:
            self.arguments(values)
        except ValidationError as error:
            return self.problems(error)
        return []

    def wrong(self, values: Mapping[str, Any]) -> list[Problem]:
        """Return what is wrong with the values that are there, and not what is missing."""
        return [problem for problem in self.check(values) if not problem.is_missing and at_path(values, problem.path)]

    def needs_view(self, problem: Problem) -> bool:
        """Return whether something is wrong with a field that only the View has: a secret or a file."""
        found = schemas_at(problem.path, self.schema)
        return any(is_secret(each, self.schema) or is_file(each, self.schema) for each in found)

    def public(self, values: Mapping[str, Any], files: Mapping[str, UploadedFile] | None = None) -> dict[str, Any]:
        """Return values without secrets and unknown fields, with names and sizes of files instead of their ids."""
        texts = {id: f"{file.name} ({size_text(file.size)})" for id, file in (files or {}).items()}
        public: dict[str, Any] = for_others(dict(values), self.schema, self.schema, texts)
        return public


def _accept(value: Any, _validate: Callable[[Any], Any]) -> Any:
    return value


def _has_fields(annotation: Any) -> bool:
    kind = typing.get_args(annotation)[0] if typing.get_origin(annotation) is Annotated else annotation
    kind = typing.get_origin(kind) or kind
    if is_typeddict(kind):
        return True
    if kind is UploadedFile:
        return False
    return isinstance(kind, type) and (issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind))


def _model(tool: str, parameters: Sequence[inspect.Parameter]) -> type[BaseModel]:
    """Return a model with a field for each parameter. Its fields have other names, which a model cannot shadow."""
    fields: dict[str, Any] = {}
    for index, parameter in enumerate(parameters):
        annotation: Any = Annotated[(parameter.annotation, Field(alias=parameter.name))]
        fields[f"field_{index}"] = (
            annotation if parameter.default is parameter.empty else (annotation, parameter.default)
        )
    made: type[BaseModel] = create_model(tool, **fields)
    return made
