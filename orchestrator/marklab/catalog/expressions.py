# SPDX-License-Identifier: MIT OR Apache-2.0
"""Formulas of the catalog: arithmetic over named numbers, and no other part of Python."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from marklab.errors import BadInput, unknown

Value = float | int | str

# Values that a formula may name: numbers, words, and lists of numbers, for `nth` and `sum`.
Names = Mapping[str, Value | tuple[int, ...]]

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@cache
def _harmonic(number: int) -> float:
    return math.fsum(1 / each for each in range(1, number + 1))


@cache
def _inverse_roots(number: int) -> float:
    return math.fsum(1 / math.sqrt(each) for each in range(1, number + 1))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    # Rounds halves up; Python's own round() rounds them to the even neighbour.
    "round": lambda value: math.floor(value + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
    "sqrt": math.sqrt,
    "min": min,
    "max": max,
    "log2": math.log2,
    "exp": math.exp,
    "nth": lambda numbers, place: numbers[int(place)],
    "sum": sum,
    # 1 + 1/2 + ... + 1/n
    "harmonic": lambda number: _harmonic(int(number)),
    # 1 + 1/sqrt(2) + ... + 1/sqrt(n)
    "inverse_roots": lambda number: _inverse_roots(int(number)),
}


class Expression:
    """A formula such as `lambda_ * rtt_p90_us`, checked once and evaluated any number of times."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError) as error:
            raise BadInput(f"`{text}` is not a formula") from error
        self._check(self._tree)

    def __call__(self, names: Names) -> Value:
        """The value of the formula. Raises BadInput if it has none."""
        try:
            value = self._value(self._tree, names)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            if isinstance(error, BadInput):
                raise
            raise BadInput(f"`{self.text}` has no value: {error}") from error
        if isinstance(value, tuple):
            raise BadInput(f"`{self.text}` is a list", "nth(list, place) takes one of its numbers")
        found: Value = value
        return found

    def _check(self, node: ast.AST) -> None:
        match node:
            case ast.Constant(value=int() | float() | str()) | ast.Name():
                return
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                parts: list[ast.expr] = [operand]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                parts = [left, right]
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                parts = [left, right]
            case ast.IfExp(test=test, body=body, orelse=orelse):
                parts = [test, body, orelse]
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                if name not in _FUNCTIONS:
                    raise unknown(f"function in `{self.text}`:", name, _FUNCTIONS)
                parts = args
            case _:
                raise BadInput(f"`{self.text}`: `{ast.unparse(node)}` is not allowed in a formula")
        for part in parts:
            self._check(part)

    def _value(self, node: ast.AST, names: Names) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                if name not in names:
                    raise unknown(f"name in `{self.text}`:", name, names)
                return names[name]
            case ast.UnaryOp(op=op, operand=operand):
                return _OPERATORS[type(op)](self._value(operand, names))
            case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
                return _OPERATORS[type(op)](self._value(left, names), self._value(right, names))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._value(body if self._value(test, names) else orelse, names)
            case ast.Call(func=ast.Name(id=name), args=args):
                return _FUNCTIONS[name](*(self._value(arg, names) for arg in args))
        raise AssertionError(f"{ast.dump(node)} passed the check")
