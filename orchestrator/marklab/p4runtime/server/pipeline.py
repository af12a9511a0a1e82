# SPDX-License-Identifier: MIT OR Apache-2.0
"""The pipeline config (P4Runtime specification, sections 7, 14 and 15).

A switch runs only the program that it was started with. A client's config is accepted if it describes that program.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from marklab.engine import binding as engine
from marklab.errors import BadInput
from marklab.p4runtime import entries, p4info
from marklab.p4runtime.messages import p4runtime_pb2
from marklab.p4runtime.program import Program
from marklab.p4runtime.server.refusal import Refusal, absent, invalid

_Actions = p4runtime_pb2.SetForwardingPipelineConfigRequest.Action
_Responses = p4runtime_pb2.GetForwardingPipelineConfigRequest.ResponseType

# Fields of P4Info in which compilers may differ for the same pipeline.
_IMMATERIAL = {
    "alias",
    "annotations",
    "annotation_locations",
    "doc",
    "has_initial_entries",
    "initial_default_action",
    "is_const_table",
    "pkg_info",
    "structured_annotations",
    "type_info",
}

_SHOWN_DIFFERENCES = 5


@dataclass(frozen=True)
class Running:
    """The program that a switch runs, as P4Runtime sees it."""

    source: Path
    # The source as it was when the switch started, as the file may change.
    text: bytes
    digest: str
    info: Any
    program: Program
    # The program's own entries, as a WriteRequest.
    initial: Any

    @classmethod
    def load(cls, source: Path, compiled: engine.CompiledProgram) -> Running:
        """Describe a program. `compiled` is the compiled program that the switch runs."""
        described, _ = engine.describe_control_plane(source)
        info, program = p4info.build(described)
        return cls(source, source.read_bytes(), compiled.digest, info, program, entries.build(program))


class PipelineConfig:
    """The config in force, and the config that was saved for a later commit."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._config = p4runtime_pb2.ForwardingPipelineConfig(p4info=running.info)
        self._config.p4_device_config = running.text
        self._saved: Any = None

    def set(self, request: Any) -> bool:
        """Carry out a client's request. Returns whether the switch must be reset to its initial state."""
        action = _Actions.Name(request.action) if request.action in _Actions.values() else "UNSPECIFIED"
        if action == "COMMIT":
            self._commit(request)
            return True
        if action == "UNSPECIFIED":
            raise invalid("the action is not specified", "use VERIFY_AND_COMMIT, or another action")
        if not request.HasField("config"):
            raise invalid(f"{action} needs a config", "send the P4Info of the program that the switch runs")
        self._verify(request.config)
        match action:
            case "VERIFY_AND_SAVE":
                self._saved = request.config
            case "VERIFY_AND_COMMIT" | "RECONCILE_AND_COMMIT":
                self._config, self._saved = request.config, None
        return action == "VERIFY_AND_COMMIT"

    def get(self, response_type: int) -> Any:
        """The parts of the config that a client asks for."""
        kind = _Responses.Name(response_type) if response_type in _Responses.values() else "ALL"
        config = p4runtime_pb2.ForwardingPipelineConfig()
        if self._config.HasField("cookie"):
            config.cookie.CopyFrom(self._config.cookie)
        if kind in {"ALL", "P4INFO_AND_COOKIE"}:
            config.p4info.CopyFrom(self._config.p4info)
        if kind in {"ALL", "DEVICE_CONFIG_AND_COOKIE"}:
            config.p4_device_config = self._config.p4_device_config
        return config

    def _commit(self, request: Any) -> None:
        if request.HasField("config"):
            raise invalid("COMMIT takes no config", "use VERIFY_AND_COMMIT, or leave the config out")
        if self._saved is None:
            raise absent("no config is saved", "use VERIFY_AND_SAVE first, or VERIFY_AND_COMMIT")
        self._config, self._saved = self._saved, None

    def _verify(self, config: Any) -> None:
        if not config.HasField("p4info"):
            raise invalid("the config has no P4Info", "send that of the program that the switch runs")
        found = list(differences(self._running.info, config.p4info))
        if found:
            shown = "; ".join(found[:_SHOWN_DIFFERENCES])
            more = f"; and {len(found) - _SHOWN_DIFFERENCES} more" if len(found) > _SHOWN_DIFFERENCES else ""
            raise invalid(
                f"the P4Info is not that of {self._running.source.name}, which this switch runs: {shown}{more}",
                "start a switch with the other program, or push this one's P4Info",
            )
        self._verify_device_config(config.p4_device_config)

    def _verify_device_config(self, sent: bytes) -> None:
        """Check a device config: a BMv2 JSON, the program's text or its path. An empty one is accepted."""
        if not sent or sent == self._running.text:
            return
        try:
            text = sent.decode()
        except UnicodeDecodeError as error:
            raise _no_device_config() from error
        if text.lstrip().startswith("{"):
            _check_bmv2(text)
            return
        if self._digest_of(text) != self._running.digest:
            raise invalid(
                f"p4_device_config is another program than {self._running.source.name}, which this switch runs",
                "start a switch with it",
            )

    def _digest_of(self, text: str) -> str:
        try:
            if "\n" not in text.strip() and text.strip().endswith(".p4"):
                return engine.compile_program(Path(text.strip())).digest
            with TemporaryDirectory(prefix="marklab-") as folder:
                source = Path(folder, self._running.source.name)
                source.write_text(text)
                return engine.compile_program(source).digest
        except BadInput as error:
            raise _no_device_config() from error


def differences(running: Any, sent: Any) -> Iterator[str]:
    """Differences of a client's P4Info from the program's, object by object."""
    for field in running.DESCRIPTOR.fields:
        if field.name in _IMMATERIAL or not field.is_repeated:
            continue
        ours, theirs = (_by_id(getattr(info, field.name)) for info in (running, sent))
        for number in sorted(ours.keys() | theirs.keys()):
            kind = field.name.removesuffix("s").replace("_", " ")
            if number not in theirs:
                yield f"{kind} `{ours[number].preamble.name}` ({number:#010x}) is missing"
            elif number not in ours:
                yield f"{kind} `{theirs[number].preamble.name}` ({number:#010x}) is not in the program"
            else:
                name = ours[number].preamble.name
                yield from (f"{kind} `{name}`: {each}" for each in _differing(ours[number], theirs[number], ""))


def _by_id(listed: Any) -> Mapping[int, Any]:
    return {each.preamble.id: each for each in listed}


def _differing(ours: Any, theirs: Any, path: str) -> Iterator[str]:
    """The fields in which two messages of the same type differ."""
    for field in ours.DESCRIPTOR.fields:
        if field.name in _IMMATERIAL:
            continue
        where = f"{path}{field.name}"
        one, other = getattr(ours, field.name), getattr(theirs, field.name)
        if field.is_repeated and field.message_type is not None and len(one) == len(other):
            for place, pair in enumerate(zip(one, other, strict=True)):
                yield from _differing(*pair, f"{where}[{place}].")
        elif not field.is_repeated and field.message_type is not None:
            yield from _differing(one, other, f"{where}.")
        elif one != other:
            yield f"{where} is {_shown(other)}, here {_shown(one)}"


def _shown(value: Any) -> str:
    return f"of length {len(value)}" if hasattr(value, "add") else f"{value}"


def _check_bmv2(text: str) -> None:
    try:
        described = json.loads(text)
    except json.JSONDecodeError as error:
        raise _no_device_config() from error
    if "pipelines" not in described:
        raise _no_device_config()


def _no_device_config() -> Refusal:
    return invalid(
        "p4_device_config is neither a BMv2 JSON nor a program that compiles",
        "send what p4c-bm2-ss wrote, the program's text or path, or nothing",
    )
