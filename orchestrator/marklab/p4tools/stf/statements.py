# SPDX-License-Identifier: MIT OR Apache-2.0
"""The statements of a test: one class per statement of the language, each with its line number."""

from __future__ import annotations

from dataclasses import dataclass, field

BITS_PER_DIGIT = {"0x": 4, "0b": 1}


@dataclass(frozen=True)
class Number:
    """A number as it is written; `*` stands for any digit in hexadecimal and binary ones."""

    text: str

    @property
    def wild(self) -> bool:
        """Whether some digits are open (`*`)."""
        return "*" in self.text

    @property
    def value(self) -> int:
        """The number, with open digits as 0."""
        return int(self.text.replace("*", "0"), 0 if self._bits_per_digit else 10)

    @property
    def mask(self) -> int | None:
        """Mask with ones for written digits, as in p4c's runner: bits above the digits are open. None for decimals."""
        bits = self._bits_per_digit
        if bits is None:
            return None
        ones = f"{(1 << bits) - 1:x}" if bits == 4 else "1"
        digits = "".join("0" if digit == "*" else ones for digit in self.text[2:])
        return int(digits, 16 if bits == 4 else 2)

    @property
    def prefix_len(self) -> int | None:
        """Number of bits of the written digits. None for a decimal."""
        bits = self._bits_per_digit
        return None if bits is None else bits * sum(digit != "*" for digit in self.text[2:])

    @property
    def _bits_per_digit(self) -> int | None:
        return BITS_PER_DIGIT.get(self.text[:2].lower())


@dataclass(frozen=True)
class Key:
    """A component of an entry's key: `name:value`, `name:value/bits`, and our `value&&&mask` and `low..high`."""

    name: str
    value: Number
    prefix_len: int | None = None
    mask: Number | None = None
    high: Number | None = None


@dataclass(frozen=True)
class Call:
    """An action with its parameters."""

    action: str
    params: tuple[tuple[str, Number], ...] = ()


@dataclass(frozen=True)
class Statement:
    """Any statement, with its line in the test."""

    line: int


@dataclass(frozen=True)
class Add(Statement):
    """`add TABLE [PRIORITY] KEY:VALUE ... ACTION(PARAM:VALUE, ...) [= ALIAS]`; the larger priority wins."""

    table: str
    priority: int | None
    keys: tuple[Key, ...]
    call: Call
    alias: str | None = None


@dataclass(frozen=True)
class SetDefault(Statement):
    """`setdefault TABLE ACTION(PARAM:VALUE, ...)`."""

    table: str
    call: Call


@dataclass(frozen=True)
class RemoveAll(Statement):
    """`remove all`: the entries of all tables that can be changed."""


@dataclass(frozen=True)
class Wait(Statement):
    """`wait`: does nothing, as every packet has left before the next statement."""


@dataclass(frozen=True)
class Packet(Statement):
    """`packet PORT HEX ...`, with the queue signals of a `# queue` comment before it."""

    port: int
    frame: bytes
    queue: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Expect(Statement):
    """`expect PORT [HEX or * ... [$]]`: the next packet of the port; without digits any packet."""

    port: int
    digits: str
    whole: bool

    def matches(self, frame: bytes) -> bool:
        """Whether this is the packet; without `$` it may be longer."""
        seen = frame.hex()
        if len(seen) < len(self.digits) or (self.whole and len(seen) != len(self.digits)):
            return False
        return all(want in ("*", got) for want, got in zip(self.digits, seen, strict=False))


@dataclass(frozen=True)
class NoPacket(Statement):
    """`no_packet`: no unexpected packets, which always holds."""


@dataclass(frozen=True)
class CheckCounter(Statement):
    """`check_counter NAME(INDEX or ALIAS) [bytes|packets OP N]`; without a condition the count must be 0."""

    counter: str
    cell: Number | str
    unit: str = "packets"
    operator: str = "=="
    value: int = 0


@dataclass(frozen=True)
class Command(Statement):
    """A command of simple_switch_CLI: `mirroring_add 5 1`, with its words."""

    name: str
    words: tuple[str, ...]
