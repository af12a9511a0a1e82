# SPDX-License-Identifier: MIT OR Apache-2.0
"""Annotations: some have a meaning in P4Runtime, all others are copied as written."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from marklab.errors import BadInput
from marklab.p4runtime.messages import Message

# Annotations that other fields of a message carry.
_ELSEWHERE = frozenset({"name", "id", "brief", "description"})

Annotations = Sequence[Mapping[str, Any]]


def find(annotations: Annotations, name: str) -> Mapping[str, Any] | None:
    """The annotation of that name."""
    return next((each for each in annotations if each["name"] == name), None)


def values(annotations: Annotations, name: str, form: str) -> list[Any] | None:
    """Values of an annotation, or None without the annotation. `form` shows how to write it."""
    found = find(annotations, name)
    if found is None:
        return None
    if found["values"] is None:
        raise BadInput(f"@{name}({found['text']}) is of the wrong form", f"write @{name}({form})")
    return [next(iter(value.values())) for value in found["values"]]


def number(annotations: Annotations, name: str) -> int | None:
    """The number in an annotation, or None without the annotation."""
    given = values(annotations, name, "1")
    if given is None:
        return None
    if len(given) != 1 or not str(given[0]).lstrip("-").isdigit():
        raise BadInput(f"@{name} needs a number", f"write @{name}(1)")
    return int(given[0])


def text(annotations: Annotations, name: str) -> str | None:
    """The string in an annotation, or None without the annotation."""
    given = values(annotations, name, '"text"')
    if given is None:
        return None
    if len(given) != 1 or not isinstance(given[0], str):
        raise BadInput(f"@{name} needs a string", f'write @{name}("text")')
    return given[0]


def pairs(annotations: Annotations, name: str) -> dict[str, Any]:
    """The keys and values in an annotation."""
    found = find(annotations, name)
    if found is None:
        return {}
    if found["pairs"] is None:
        raise BadInput(f"@{name}({found['text']}) is of the wrong form", f"write @{name}(key = value, ...)")
    return {key: next(iter(value.values())) for key, value in found["pairs"]}


def copy(annotations: Annotations, message: Any, leave_out: Collection[str] = ()) -> None:
    """Copy annotations without a field of their own into a message."""
    for each in annotations:
        if each["structured"]:
            _structured(each, message.structured_annotations.add())
        elif each["name"] not in _ELSEWHERE and each["name"] not in leave_out:
            body = f"({each['text']})" if each["text"] else ""
            message.annotations.append(f"@{each['name']}{body}")


def document(annotations: Annotations, message: Any) -> None:
    """Put `@brief` and `@description` into a message."""
    for name in ("brief", "description"):
        said = text(annotations, name)
        if said is not None:
            setattr(message.doc, name, said)


def _structured(annotation: Mapping[str, Any], message: Any) -> None:
    message.name = annotation["name"]
    if annotation["pairs"] is not None:
        message.kv_pair_list.SetInParent()
        for key, value in annotation["pairs"]:
            pair = message.kv_pair_list.kv_pairs.add()
            pair.key = key
            _literal(value, pair.value)
    elif annotation["values"] is not None:
        # An empty list `@name[]` has neither form.
        for value in annotation["values"]:
            _literal(value, message.expression_list.expressions.add())
    else:
        raise BadInput(f"@{annotation['name']}[...] has values that are not literals", "write them out")


def _literal(value: Mapping[str, Any], message: Message) -> None:
    match value:
        case {"number": digits}:
            message.int64_value = int(digits)
        case {"bool": truth}:
            message.bool_value = truth
        case {"text": string}:
            message.string_value = string
