"""What all descriptions that users write have in common: frozen, no unknown keys, numbers with units."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, ValidationError

from orchestrator import units
from orchestrator.errors import BadInput, unknown


class Model(BaseModel):
    """A description. Python names carry the unit, written names do not: there the value has it."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)


Rate = Annotated[int, BeforeValidator(units.parse_rate), PlainSerializer(units.format_rate)]
Time = Annotated[int, BeforeValidator(units.parse_time), PlainSerializer(units.format_time)]
Size = Annotated[int, BeforeValidator(units.parse_size), PlainSerializer(units.format_size)]

Described = TypeVar("Described", bound=BaseModel)


def validate(model: type[Described], data: object, where: str) -> Described:
    """Make a description of plain data, and explain all that is wrong with it in one error."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = [_problem(model, problem) for problem in error.errors()]
        remedies = [remedy for _, remedy in problems if remedy]
        text = "; ".join(message for message, _ in problems)
        raise BadInput(f"{where}: {text}" if where else text, remedies[0] if remedies else None) from error


def _problem(model: type[BaseModel], problem: Any) -> tuple[str, str | None]:
    place = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        known = _names_at(model, problem["loc"][:-1])
        error = unknown("key", place, known) if known else BadInput(f"unknown key `{place}`")
        return str(error), error.remedy
    cause = problem.get("ctx", {}).get("error")
    remedy = cause.remedy if isinstance(cause, BadInput) else None
    written = problem["msg"].replace("Input", f"`{problem['input']}`", 1)
    message = str(cause) if cause is not None else written
    return f"{place}: {message}" if place else message, remedy


def _names_at(model: type[BaseModel], place: tuple[str | int, ...]) -> list[str]:
    """Keys that are known inside of `place`, written from the top."""
    for part in place:
        field = next((field for name, field in model.model_fields.items() if part in (name, field.alias)), None)
        inner = field.annotation if field else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        model = inner
    return [".".join(map(str, (*place, field.alias or name))) for name, field in model.model_fields.items()]


def read_yaml(path: Path) -> Mapping[str, Any]:
    """Read a file that holds one mapping."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    except yaml.YAMLError as error:
        raise BadInput(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(data, dict):
        raise BadInput(f"{path} holds {type(data).__name__}, not `key: value` lines")
    return data
