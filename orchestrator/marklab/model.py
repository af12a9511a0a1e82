# SPDX-License-Identifier: MIT OR Apache-2.0
"""The base of all descriptions that users write: frozen, without unknown keys, numbers with units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from marklab import units
from marklab.errors import BadInput, unknown


class Model(BaseModel):
    """A description. The unit is part of a field's Python name; in a file it is part of the value."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)


def short_form(short: JsonSchemaValue, **mapping: Any) -> Callable[[JsonSchemaValue], None]:
    """Allow a short form in place of a mapping: a function for the `json_schema_extra` of the mapping's model.

    `short` is the JSON Schema of the short form. `mapping` overrides keys of the mapping's own JSON Schema.
    """

    def add(schema: JsonSchemaValue) -> None:
        described = schema | mapping
        schema.clear()
        schema["anyOf"] = [short, described]

    return add


def unread(value: Any) -> Any:
    """Return a value unchanged: a validator whose `json_schema_input_type` is the model that reads the value later."""
    return value


def written(schema: JsonSchemaValue) -> Any:
    """A type with this JSON Schema, for the `json_schema_input_type` of a validator: it describes the written form."""
    return Annotated[Any, WithJsonSchema(schema)]


RATE: JsonSchemaValue = {"type": ["string", "number"], "pattern": units.RATE_PATTERN, "examples": ["10G", "100M"]}
# 0 is the only time without a unit.
TIME: JsonSchemaValue = {
    "anyOf": [{"type": "string", "pattern": units.TIME_PATTERN}, {"const": 0}],
    "examples": ["70us", "10ms"],
}
SIZE: JsonSchemaValue = {"type": ["string", "number"], "pattern": units.SIZE_PATTERN, "examples": ["250KB", "64KiB"]}
PART: JsonSchemaValue = {"type": ["string", "number"], "pattern": units.PART_PATTERN, "examples": ["5%", 0.05]}

Rate = Annotated[
    int,
    BeforeValidator(units.parse_rate, json_schema_input_type=written(RATE)),
    PlainSerializer(units.format_rate),
]
Time = Annotated[
    int,
    BeforeValidator(units.parse_time, json_schema_input_type=written(TIME)),
    PlainSerializer(units.format_time),
]
Size = Annotated[
    int,
    BeforeValidator(units.parse_size, json_schema_input_type=written(SIZE)),
    PlainSerializer(units.format_size),
]

Part = Annotated[float, BeforeValidator(units.parse_part, json_schema_input_type=written(PART))]


def as_list(value: Any) -> Any:
    """Put a single value into a list; leave lists and tuples as they are."""
    return value if isinstance(value, (list, tuple)) else [value]


class OneOrMore:
    """Annotation of a list field whose single item may be written without brackets."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(as_list, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        many = handler(schema)
        return {"anyOf": [many["items"], many]}


# Fifteen times as fast as SafeLoader, if PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Described = TypeVar("Described", bound=BaseModel)


# A place in a description: keys and numbers of items.
Place = tuple[str | int, ...]


def validate(
    model: type[Described], data: object, where: str, line: Callable[[Place], int | None] | None = None
) -> Described:
    """Make a description from plain data. Raises BadInput with all that is wrong in one message.

    `where` names the source of the data in that message, and `line` finds the line of a place in it.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = [_problem(model, problem, line) for problem in error.errors()]
        remedies = [remedy for _, remedy in problems if remedy]
        text = "; ".join(message for message, _ in problems)
        raise BadInput(f"{where}: {text}" if where else text, remedies[0] if remedies else None) from error


def _problem(
    model: type[BaseModel], problem: Any, line: Callable[[Place], int | None] | None
) -> tuple[str, str | None]:
    message, remedy = _said(model, problem)
    cause = problem.get("ctx", {}).get("error")
    number = line((*problem["loc"], *getattr(cause, "place", ()))) if line is not None else None
    return (message if number is None else f"line {number}: {message}"), remedy


def _said(model: type[BaseModel], problem: Any) -> tuple[str, str | None]:
    place = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        known = _names_at(model, problem["loc"][:-1])
        error = unknown("key", place, known) if known else BadInput(f"unknown key `{place}`")
        return str(error), error.remedy
    context = problem.get("ctx", {})
    cause = context.get("error")
    remedy = cause.remedy if isinstance(cause, BadInput) else None
    written = f"`{problem['input']}`"
    if cause is not None:
        message = str(cause)
    elif problem["type"] in _SAID:
        message = _SAID[problem["type"]].format(input=written, **context)
    else:
        message = problem["msg"].replace("Input", written, 1)
    if problem["type"] == "literal_error":
        remedy = _nearest(problem["input"], _field_at(model, problem["loc"]))
    elif problem["type"].startswith(("greater_than", "less_than", "int_", "float_")):
        remedy = _range(_field_at(model, problem["loc"]))
    return f"{place}: {message}" if place else message, remedy


# Types of pydantic's errors, and the messages about them in the words of users.
_SAID = {
    "missing": "it is missing",
    "int_type": "{input} is not a whole number",
    "int_parsing": "{input} is not a whole number",
    "int_parsing_size": "{input} is too large",
    "int_from_float": "{input} is not a whole number",
    "float_type": "{input} is not a number",
    "float_parsing": "{input} is not a number",
    "bool_type": "{input} is neither true nor false",
    "bool_parsing": "{input} is neither true nor false",
    "string_type": "{input} is not text",
    "tuple_type": "{input} is not a list",
    "dict_type": "{input} is not a mapping, `key: value`",
    "model_type": "{input} is not a mapping, `key: value`",
    "too_short": "it needs at least {min_length}, not {actual_length}",
    "too_long": "it may have at most {max_length}, not {actual_length}",
}


def _nearest(written: object, field: FieldInfo | None) -> str | None:
    kinds = (field.annotation, *get_args(field.annotation)) if field is not None else ()
    # The choices may be one of several kinds of value, as in `Literal["a", "b"] | None`.
    choices = [str(choice) for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    return unknown("value", str(written), choices).remedy if choices else None


def _range(field: FieldInfo | None) -> str | None:
    """The limits of a number, in its unit, as a remedy; None if it has none."""
    limits = field.metadata if field is not None else []
    write = next((limit.func for limit in limits if isinstance(limit, PlainSerializer)), str)
    said = [
        f"{words} {write(getattr(limit, name))}"  # type: ignore[call-arg]
        for words, name in (("above", "gt"), ("at least", "ge"), ("below", "lt"), ("at most", "le"))
        for limit in limits
        if getattr(limit, name, None) is not None
    ]
    return f"it must be {' and '.join(said)}" if said else None


def _field_at(model: type[BaseModel], place: tuple[str | int, ...]) -> FieldInfo | None:
    *outer, last = place
    inner = _model_at(model, tuple(outer))
    fields = inner.model_fields if inner is not None else {}
    return next((field for name, field in fields.items() if last in (name, field.alias)), None)


def _names_at(model: type[BaseModel], place: tuple[str | int, ...]) -> list[str]:
    """Known keys of the description at `place`, written with their full path."""
    inner = _model_at(model, place)
    fields = inner.model_fields if inner is not None else {}
    return [".".join(map(str, (*place, field.alias or name))) for name, field in fields.items()]


def _model_at(model: type[BaseModel], place: tuple[str | int, ...]) -> type[BaseModel] | None:
    """The model of the description at `place`; None if there is none."""
    for part in place:
        field = next((field for name, field in model.model_fields.items() if part in (name, field.alias)), None)
        kinds = (field.annotation, *get_args(field.annotation)) if field else ()
        inner = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
        if inner is None:
            return None
        model = inner
    return model


def line_of(path: Path, place: Place) -> int | None:
    """The line of a place in a YAML file: that of the deepest part of the place that is there."""
    node = found = yaml.compose(path.read_text(encoding="utf-8"), _LOADER)
    for part in place:
        if isinstance(node, yaml.MappingNode):
            key, node = next(((key, value) for key, value in node.value if key.value == part), (None, None))
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            key = node = node.value[part]
        else:
            break
        if key is None:
            break
        found = key
    return found.start_mark.line + 1 if found is not None else None


def read_described(
    model: type[Described], path: Path, prepare: Callable[[dict[str, Any]], object] = lambda plain: plain
) -> Described:
    """Read a description from a YAML file; `prepare` changes the plain data first. Problems are told with their lines.

    Raises BadInput if the file cannot be read, or does not hold such a description.
    """
    return validate(model, prepare(dict(read_yaml(path))), str(path), partial(line_of, path))


def read_yaml(path: Path) -> Mapping[str, Any]:
    """Read a YAML file that holds one mapping. Raises BadInput if it cannot be read, or holds anything else."""
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), _LOADER)  # noqa: S506 - both are safe loaders
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    except yaml.YAMLError as error:
        at = getattr(error, "problem_mark", None)
        line = f", line {at.line + 1}" if at is not None else ""
        raise BadInput(f"{path}{line}: it is not YAML: {getattr(error, 'problem', None) or error}") from error
    if not isinstance(data, dict):
        what = "is empty" if data is None else "holds no `key: value` lines"
        raise BadInput(f"{path} {what}")
    return data
