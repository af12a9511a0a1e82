# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which packets a run records, as users write it."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any, Literal, Self, get_args

from pydantic import Field

from marklab.errors import BadInput, unknown
from marklab.model import Model
from marklab.units import ShortForm

Only = Literal["marks", "losses"]

# The written form, as JSON Schema.
WRITTEN_PACKETS = {"type": "string", "examples": ["all", "marks", "marks,losses", "port=s0:7,last=1e6", "flow=7"]}

_ALL = "all"
_SETTINGS = ("flow", "port", "last")
_WORDS = (_ALL, *get_args(Only))
# A row takes about 100 bytes of memory until it is written.
_LAST, _MOST = 10**6, 10**8


class TracePackets(Model):
    """Packets at switches, one by one: `marks,port=s0:7,last=1e6`.

    Conditions hold together, except `marks` and `losses`, of which one is enough. Of the packets that meet them the
    `last` ones are kept.
    """

    only: tuple[Only, ...] = ()
    port: str | None = None
    flow: int | None = Field(default=None, ge=0)
    last: int = Field(default=_LAST, ge=1, le=_MOST)

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Read the written form. Raises BadInput for what is not one."""
        if isinstance(value, cls):
            return value
        form = ShortForm.read(f":{value}")
        words = [word for word in form.words if word]
        for word in words:
            if word not in _WORDS:
                raise unknown("part of a record of packets", word, (*_WORDS, *(f"{name}=..." for name in _SETTINGS)))
        for name in form.settings:
            if name not in _SETTINGS:
                raise unknown("setting of a record of packets", name, _SETTINGS)
        if not words and not form.settings:
            raise BadInput("a record of packets needs to say of which", "all, marks, losses, flow=7, port=s0:7")
        numbers = {name: _whole(name, form.settings[name]) for name in ("flow", "last") if name in form.settings}
        only = tuple(word for word in get_args(Only) if word in words and _ALL not in words)
        if not 1 <= numbers.get("last", _LAST) <= _MOST:
            raise BadInput(f"last={form.settings['last']} packets cannot be kept", f"a number from 1 to {_MOST:,}")
        return cls(only=only, port=form.settings.get("port"), **numbers)

    def __str__(self) -> str:
        settings = {"flow": self.flow, "port": self.port, "last": None if self.last == _LAST else self.last}
        given = [f"{name}={value}" for name, value in settings.items() if value is not None]
        return ",".join([*self.only, *given]) or _ALL


def _whole(name: str, text: str) -> int:
    """Read a number of packets or of a flow: `1000000` or `1e6`."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number != number.to_integral_value() or number < 0:
        raise BadInput(f"`{name}={text}` is not a whole number", f"{name}=7, or 1e6")
    return int(number)
