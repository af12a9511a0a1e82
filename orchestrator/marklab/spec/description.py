# SPDX-License-Identifier: MIT OR Apache-2.0
"""The description of a run. Defaults are those of the testbed in the ECN# paper (sections 2.3 and 5)."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator
from pydantic.json_schema import JsonSchemaValue

from marklab import units
from marklab.catalog.choice import WRITTEN_CHOICE, SchemeChoice, parse_baseline, parse_choice
from marklab.catalog.controller import ControllerChoice
from marklab.devices.frames import Framing
from marklab.devices.hosts import Connections, Limit, Nic, Transport
from marklab.devices.pfc import Pfc
from marklab.devices.pias import Pias
from marklab.devices.queueing import Queues
from marklab.errors import BadInput, unknown
from marklab.model import Model, OneOrMore, Rate, Size, Time, read_yaml, unread, validate, written
from marklab.spec.packets import WRITTEN_PACKETS, TracePackets
from marklab.spec.windows import WRITTEN_WINDOW, TimeWindow
from marklab.topology import Incast, Topology, WrittenTopology, parse_topology
from marklab.traffic.description import AddedFlow, Distribution, FlowListFile, Queries, Sessions
from marklab.traffic.flows import OWN_TRANSPORTS
from marklab.traffic.jobs import AnyJob
from marklab.traffic.probes import Probe
from marklab.traffic.rtt import WRITTEN_RTT, Classes, LongTailed, parse_rtt, read_rtt
from marklab.traffic.services import Services
from marklab.traffic.workload import load_workload


def _read_rtt(value: Any) -> Any:
    return value if isinstance(value, (LongTailed, Classes)) else read_rtt(value)


_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"


def _read_name(value: str) -> str:
    if not re.fullmatch(_NAME, value):
        raise BadInput(
            f"`{value}` cannot be part of a folder's name",
            "begin with a letter or digit; the rest may also contain `.`, `_` and `-`",
        )
    return value


_ARCHS = ("v1model", "tna", "t2na")


def _read_arch(value: Any) -> Any:
    if value not in (None, *_ARCHS):
        raise unknown("architecture", str(value), _ARCHS)
    return None if value == "v1model" else value


_MAX_DILATION = 10**6

Window = Annotated[
    TimeWindow,
    BeforeValidator(TimeWindow.parse, json_schema_input_type=written(WRITTEN_WINDOW)),
    PlainSerializer(str),
]
Packets = Annotated[
    TracePackets,
    BeforeValidator(TracePackets.parse, json_schema_input_type=written(WRITTEN_PACKETS)),
    PlainSerializer(str),
]
Scheme = Annotated[
    SchemeChoice,
    BeforeValidator(parse_choice, json_schema_input_type=written(WRITTEN_CHOICE)),
    PlainSerializer(str),
]
Baseline = Annotated[
    SchemeChoice | None,
    BeforeValidator(parse_baseline, json_schema_input_type=written(WRITTEN_CHOICE)),
    PlainSerializer(lambda choice: str(choice or "none")),
]
Rtt = Annotated[
    LongTailed | Classes,
    BeforeValidator(_read_rtt, json_schema_input_type=written(WRITTEN_RTT)),
    PlainSerializer(str),
]
Graph = Annotated[Topology, BeforeValidator(parse_topology, json_schema_input_type=WrittenTopology)]
Queue = Annotated[Limit, PlainSerializer(str)]
Ports = Annotated[Queues, PlainSerializer(str)]


def _read_dilation(value: Any) -> int | str:
    """Read a dilation: a whole number, or `auto`."""
    text = str(value).strip()
    if text == "auto" or (text.isdecimal() and 1 <= int(text) <= _MAX_DILATION):
        return text if text == "auto" else int(text)
    raise BadInput(f"`{value}` is not a dilation", f"a whole number from 1 to {_MAX_DILATION:,}, or auto")


# Fabrics other than the simulator, as the help describes them. A spec chooses one by a field of that name, with its
# settings.
FABRICS = {"mininet": "real packets; needs root"}


class Mininet(Model):
    """A run on real hosts and switches: all times are multiplied by `dilation`, and all rates divided by it."""

    # `auto` is the smallest of 100, 200, 400, ... that this machine keeps up with; it is the same for all cells.
    dilation: Annotated[int | Literal["auto"], BeforeValidator(_read_dilation)] = "auto"
    switch: Literal["marklab", "bmv2"] = "marklab"


class Spec(Model):
    """A run: schemes and a baseline on the same flows, once per seed."""

    # A file may leave out the schemes; they are then given on the command line.
    model_config = ConfigDict(json_schema_extra={"required": []})

    name: Annotated[str, AfterValidator(_read_name), Field(json_schema_extra={"pattern": f"^{_NAME}$"})] | None = None
    schemes: Annotated[tuple[Scheme, ...], Field(min_length=1), OneOrMore()]
    baseline: Baseline = SchemeChoice("dctcp-red", "tail")
    # Reads and writes the switches of all schemes but the baseline during a run.
    controller: ControllerChoice | None = None
    topology: Graph = Incast()
    rate_bps: Rate = Field(default=10**10, alias="rate", ge=10**6, le=10**13)
    rtt: Rtt = parse_rtt("70us..210us")
    queue: Queue = Limit(packets=600)
    queues: Ports = Queues()
    # Lossless lines, and queues without separate limits.
    pfc: Pfc | None = None
    # Hosts tag packets with priorities by the bytes that the flow has sent, and queues are strict.
    pias: Pias | None = None
    # K = lambda * C * RTT (Eq. 1). The papers' thresholds have lambda 1, for DCTCP as well.
    lambda_: float = Field(default=1.0, alias="lambda", gt=0, le=1000)
    # Bytes that a packet counts where a threshold in bytes or time becomes one in packets. Default: 1,500.
    threshold_packet_bytes: Size | None = Field(default=None, alias="threshold_packet", ge=64, le=65535)
    workload: Distribution = load_workload("web_search")
    # A load above 1 exceeds the capacity of the bottleneck.
    load: float = Field(default=0.5, gt=0, le=2)
    # The load is a fraction of the rates of the receivers' lines, not of the bottleneck's.
    load_of: Literal["hosts"] | None = None
    # The load is what an empty line delivers until the last flow begins or `until`, not what is drawn; or it counts the
    # flows' own bytes, without headers.
    load_by: Literal["delivered", "payload"] | None = None
    flows: int = Field(default=3000, ge=0, le=10**7)
    services: Services | None = None
    # Fraction of flows whose hosts negotiate ECN. Default: all flows, if the transport uses ECN.
    ecn_share: float | None = Field(default=None, ge=0, le=1)
    # Readers of the web request the flows of the workload, which are then not independent of each other.
    sessions: Sessions | None = None
    queries: Queries | None = None
    flow_list: FlowListFile | None = None
    added_flows: tuple[AddedFlow, ...] | None = None
    # Without a number of `flows`, a run with jobs has no others.
    training: Annotated[tuple[AnyJob, ...], Field(min_length=1), OneOrMore()] | None = None
    seeds: int = Field(default=5, ge=1, le=1000)
    first_seed: int = Field(default=1, ge=0, le=2**31)
    # All seeds have the flows of this one. So they differ by what else is random, such as `start_jitter`.
    flow_seed: int | None = Field(default=None, ge=0, le=2**31)
    # A flow starts later by up to this, drawn anew for each seed.
    start_jitter_ns: Time | None = Field(default=None, alias="start_jitter", gt=0)
    transport: Transport = Transport()
    nic: Nic = Nic()
    framing: Framing = Framing()
    connections: Connections = Connections()
    # Flows that are not complete at this time after the start of the last flow count as unfinished.
    stop_ns: Time = Field(default=10**10, alias="stop", gt=0)
    # In place of `stop`, the run ends at this time; flows that are not complete count as unfinished.
    until_ns: Time | None = Field(default=None, alias="until", gt=0)
    probes: Annotated[tuple[Probe, ...], OneOrMore()] | None = None
    trace_queue_ns: Time | None = Field(default=None, alias="trace_queue", gt=0)
    trace_flows_ns: Time | None = Field(default=None, alias="trace_flows", gt=0)
    # Packets at switches that are recorded one by one.
    trace_packets: Packets | None = None
    # Interval at which the queues of all ports are sampled, until the last flow begins or `until`.
    sample_queues_ns: Time | None = Field(default=None, alias="sample_queues", gt=0)
    # Time windows for mean rates and mean queue lengths, from the records of trace_flows and trace_queue.
    windows: Annotated[tuple[Window, ...], OneOrMore()] | None = None
    # A rate has converged once it stays within this fraction of its max-min share. Default: 0.1.
    converge_within: float | None = Field(default=None, gt=0, lt=1)
    pcap: str | None = None
    # If it is None, the run is simulated.
    mininet: Mininet | None = None
    # If it is None, the programs are for v1model.
    arch: Annotated[
        Literal["tna", "t2na"] | None,
        BeforeValidator(_read_arch, json_schema_input_type=Literal[_ARCHS] | None),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _jobs_alone(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("training") and "flows" not in value and "flow_list" not in value:
            return {**value, "flows": 0}
        return value

    @model_validator(mode="after")
    def _distinct_jobs(self) -> Spec:
        labels = [job.label for job in self.training or ()]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice is not None:
            raise BadInput(f"two jobs of this run are called `{twice}`", "give each a `name`")
        beside = {
            "sessions": self.sessions,
            "start_jitter": self.start_jitter_ns,
            "trace_flows": self.trace_flows_ns,
            "connections that wait": self.connections.waits or None,
            "connections: asked": self.connections.mode == "asked" or None,
        }
        other = next((name for name, given in beside.items() if given is not None), None)
        if self.training and other is not None:
            raise BadInput(f"training and `{other}` cannot be combined", f"leave out `{other}`")
        if self.training and self.mininet is not None:
            raise BadInput("the flows of jobs wait for each other, which is simulated only", "--fabric sim")
        return self

    @model_validator(mode="after")
    def _distinct(self) -> Spec:
        labels = [choice.label for choice in self.choices]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice is not None:
            raise BadInput(f"two schemes of this run are called `{twice}`")
        return self

    @model_validator(mode="after")
    def _distinct_probes(self) -> Spec:
        labels = [probe.label for probe in self.probes or ()]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice is not None:
            raise BadInput(f"two probes of this run are `{twice}`", "they would measure the same; leave one out")
        return self

    @model_validator(mode="after")
    def _recorded_windows(self) -> Spec:
        intervals_ns = [every_ns for every_ns in (self.trace_flows_ns, self.trace_queue_ns) if every_ns is not None]
        for window in self.windows or ():
            if not intervals_ns:
                raise BadInput(
                    f"rates and queues in the window {window} are not recorded", "--trace-flows, --trace-queue, or both"
                )
            if self.until_ns is not None and window.end_ns > self.until_ns:
                raise BadInput(
                    f"the window {window} ends after the run", f"the run ends at {units.format_time(self.until_ns)}"
                )
            every_ns = math.lcm(*intervals_ns)
            if any(time_ns % every_ns for time_ns in window):
                raise BadInput(
                    f"the window {window} does not consist of whole intervals of the records",
                    f"multiples of {units.format_time(every_ns)}",
                )
        return self

    @model_validator(mode="after")
    def _ends(self) -> Spec:
        if self.until_ns is not None or self.sessions is not None:
            return self
        remedy = "--until 60s, after which incomplete flows count as unfinished"
        if self.load > 1:
            raise BadInput(
                f"load: `{self.load:g}` should be less than or equal to 1 in a run without an end: queues only grow",
                remedy,
            )
        if self.queries is not None and self.offered_load > 1:
            raise BadInput(
                f"a load of {self.load:g} and queries of {self.queries.load:g} are {self.offered_load:g} together, "
                "which should be less than or equal to 1 in a run without an end: queues only grow",
                f"a lower load of one of them, or {remedy}",
            )
        return self

    @model_validator(mode="after")
    def _reads_alone(self) -> Spec:
        if self.sessions is not None and self.services is not None:
            raise BadInput("`sessions` and `services` cannot be combined", "leave out one of them")
        return self

    @model_validator(mode="after")
    def _delivers(self) -> Spec:
        if self.load_by != "delivered":
            return self
        if self.transport.is_paced:
            raise BadInput("load_by: delivered counts windows of TCP, and dcqcn sends by rates", "--transport dctcp")
        if self.connections.mode == "persistent":
            raise BadInput(
                "load_by: delivered needs the window that a flow begins with, and persistent connections keep theirs",
                "connections: new, or asked",
            )
        if self.sessions is not None and self.sessions.closed_loop:
            raise BadInput(
                "load_by: delivered and sessions in a closed loop cannot be combined: their times depend on it",
                "leave out one of them",
            )
        return self

    @model_validator(mode="after")
    def _closes_loops(self) -> Spec:
        if self.sessions is None or not self.sessions.closed_loop:
            return self
        if self.until_ns is None:
            raise BadInput("sessions in a closed loop may never end", "--until 60s, when the run ends")
        beside = {"queries": self.queries, "added_flows": self.added_flows, "trace_flows": self.trace_flows_ns}
        other = next((name for name, given in beside.items() if given), None)
        if other is not None:
            raise BadInput(
                f"sessions in a closed loop and `{other}` cannot be combined", f"leave out `{other}` or `sessions`"
            )
        if self.transport.is_paced:
            raise BadInput(f"sessions use TCP, not {self.transport.control}", "--transport dctcp")
        if self.mininet is not None:
            raise BadInput("sessions in a closed loop are simulated only", "--fabric sim, or closed_loop: false")
        if self.sessions.persistent and self.connections.mode != "asked":
            raise BadInput("persistent connections of sessions are opened by the readers", "connections: asked")
        return self

    @model_validator(mode="after")
    def _waits(self) -> Spec:
        if not self.connections.waits:
            return self
        unlike = {
            "services": self.services is not None,
            "pias": self.pias is not None,
            "ecn_share": self.ecn_share is not None,
            "round-trip times that vary": self.rtt.min_ns != self.rtt.max_ns,
            f"--transport {self.transport.control}": self.transport.is_paced,
        }
        other = next((name for name, given in unlike.items() if given), None)
        if other is not None:
            raise BadInput(
                f"flows that wait for each other on a connection are alike, so {other} cannot be combined with `busy`",
                "leave out one of them",
            )
        return self

    @model_validator(mode="after")
    def _shares_ecn(self) -> Spec:
        if self.ecn_share is not None and not self.transport.uses_ecn:
            raise BadInput(f"ecn_share: {self.transport.control} does not use ECN", "--transport ecn-star")
        return self

    @model_validator(mode="after")
    def _mixes_transports(self) -> Spec:
        if self.transport.prague is not None and "prague" not in self.transports:
            raise BadInput("no flow of this run has prague, whose settings it has", "--transport prague")
        if len(self.transports) == 1:
            return self
        if self.transport.is_paced or self.transport.hears_delay:
            raise BadInput(
                f"flows with transports of their own have another format of packets than {self.transport.control}",
                f"--transport {' or '.join(OWN_TRANSPORTS)}",
            )
        if self.connections.mode == "persistent":
            raise BadInput("flows with transports of their own need connections of their own", "--set connections=new")
        if self.mininet is not None:
            raise BadInput("real hosts have one transport for all of their flows", "--fabric sim")
        return self

    @model_validator(mode="after")
    def _runs_anywhere(self) -> Spec:
        if self.arch is not None and self.mininet is not None:
            raise BadInput("programs for Tofino run in the simulator only", "leave out --arch, or --fabric sim")
        if self.mininet is not None and self.transport.is_paced:
            raise BadInput(
                f"`{self.transport.control}` needs RDMA NICs, which the real hosts here do not have",
                "--fabric sim, or --transport dctcp",
            )
        if self.mininet is not None and self.pfc is not None:
            raise BadInput("virtual interfaces of Linux do not pause: pfc is simulated only", "--fabric sim")
        return self

    @model_validator(mode="after")
    def _prioritises(self) -> Spec:
        if self.pias is None:
            return self
        levels = self.pias.count
        if self.services is not None:
            raise BadInput(
                "services and pias cannot be combined: both set the code points of packets", "leave out one of them"
            )
        if self.mininet is not None:
            raise BadInput(
                "the real hosts here do not count the bytes of a flow: pias is simulated only", "--fabric sim"
            )
        if self.transport.is_paced:
            raise BadInput(
                f"pias is for TCP: hosts do not tag packets of {self.transport.control}", "--transport dctcp"
            )
        if levels > 1 and (self.queues.scheduler != "strict" or self.queues.count < levels):
            raise BadInput(
                f"pias has {levels} priorities, and ports have {self.queues}: each priority needs its own strict queue",
                f"--queues strict:count={levels}",
            )
        if not isinstance(self.pias.thresholds, tuple) and (self.flow_list is not None or self.flows == 0):
            raise BadInput(
                f"`{self.pias.thresholds}` thresholds depend on a workload, and this run has none",
                "thresholds in bytes, --pias 20KB/1MB",
            )
        # Raises BadInput now if the workload has no such thresholds.
        self.pias.thresholds_bytes(self.workload, self.load)
        return self

    @model_validator(mode="after")
    def _holds_back(self) -> Spec:
        if self.pfc is not None and self.pfc.per is not None and not self.transport.is_paced:
            raise BadInput(
                f"pfc per {self.pfc.per} holds back queue pairs in NICs, and `{self.transport.control}` has none",
                "--transport dcqcn, or pfc per port",
            )
        return self

    @model_validator(mode="after")
    def _one_memory(self) -> Spec:
        own = Spec.model_fields["queue"].default
        given = {
            "queue": self.queue != own,
            "queues.buffer": self.queues.buffer is not None,
            "queues.shared": self.queues.shared_bytes is not None,
        }
        limit = next((name for name, is_given in given.items() if is_given), None)
        if self.pfc is not None and limit is not None:
            raise BadInput(
                f"`{limit}` would drop packets, which pfc prevents: pfc limits packets by the port of their arrival",
                f"leave out `{limit}`; pfc.buffer is the memory of a switch",
            )
        return self

    @model_validator(mode="after")
    def _has_flows(self) -> Spec:
        if self.flow_list is not None and self.flow_seed is not None:
            raise BadInput("all seeds have the flows of a flow list: `flow_seed` changes nothing", "leave it out")
        others = (self.queries, self.added_flows, self.training)
        if self.flow_list is None and self.flows == 0 and not any(others):
            raise BadInput("the run has no flows", "set `flows`, `training` or `added_flows`")
        return self

    @property
    def fabric(self) -> str:
        """Name of the fabric."""
        return next((name for name in FABRICS if getattr(self, name) is not None), "sim")

    @property
    def choices(self) -> tuple[SchemeChoice, ...]:
        """All schemes of the run, the baseline last unless it is among them."""
        if self.baseline is None or self.baseline in self.schemes:
            return self.schemes
        return (*self.schemes, self.baseline)

    @property
    def transports(self) -> tuple[str, ...]:
        """Transports of the run and of flows that have their own."""
        own = (flow.transport for flow in self.added_flows or () if flow.transport is not None)
        return tuple(dict.fromkeys((self.transport.control, *own)))

    @property
    def offered_load(self) -> float:
        """Offered load of the bottleneck by workload and queries together; flows without a stated load do not count."""
        own = self.load if self.flow_list is None and self.flows else 0.0
        beside = 0.0 if self.queries is None or self.queries.load is None else self.queries.load
        # Rounded, so that tenths add up to 1 exactly.
        return round(own + beside, 9)

    @property
    def queue_limit(self) -> Limit:
        """Limit of a queue. PFC limits packets by their arrival port, so a queue may take all memory of the switch."""
        return self.queue if self.pfc is None else Limit(bytes=self.pfc.buffer_bytes)

    @property
    def pias_thresholds_bytes(self) -> tuple[int, ...] | None:
        """Bytes sent after which the priority of a flow drops; None if hosts do not tag packets."""
        return None if self.pias is None else self.pias.thresholds_bytes(self.workload, self.load)

    @property
    def seed_numbers(self) -> range:
        """All seeds of the run."""
        return range(self.first_seed, self.first_seed + self.seeds)

    def title(self) -> str:
        """The run's name, or one made from scheme, fabric and flows."""
        if self.name is not None:
            return self.name
        where = "" if self.fabric == "sim" else f"-{self.fabric}"
        where += f"-{self.arch}" if self.arch else ""
        scheme = self.schemes[0].label.replace(":", "-").replace("=", "-").replace(",", "-")
        if self.flow_list is not None:
            return f"{scheme}{where}-{Path(self.flow_list.path).stem}"
        if self.flows == 0:
            what = [job.label for job in self.training or ()] or [f"{len(self.added_flows or ())}-flows"]
            return f"{scheme}{where}-{'-'.join(what)}"[:100]
        return f"{scheme}{where}-{self.workload.name}-load{round(self.load * 100)}"

    def to_plain(self) -> dict[str, Any]:
        """Plain data, from which `make_spec` makes the same description."""
        return self.model_dump(mode="json", exclude_none=True) | {"baseline": str(self.baseline or "none")}

    def to_yaml(self) -> str:
        """The text of the description as a YAML file."""
        return yaml.safe_dump(self.to_plain(), sort_keys=False, allow_unicode=True)

    def digest(self, schemes: Mapping[str, Any]) -> str:
        """Digest of all that decides the result: the spec, without its name and paths of files, and `schemes`."""
        plain = self.to_plain()
        plain.pop("name", None)
        plain["schemes"] = [choice.label for choice in self.schemes]
        plain["baseline"] = self.baseline.label if self.baseline else None
        if self.flow_list is not None:
            plain["flow_list"] = self.flow_list.sha256
        for job in plain.get("training", []):
            if "trace" in job:
                job["trace"] = Path(job["trace"]).name
        # It is part of the identity of each of its schemes.
        plain.pop("controller", None)
        text = json.dumps({"spec": plain, "schemes": dict(schemes)}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


# Settings in a file, which become a `Spec` together with other settings.
SpecSettings = Annotated[dict[str, Any], BeforeValidator(unread, json_schema_input_type=Spec)]


def setting_names() -> list[str]:
    """Names of the settings of a run, as in a file."""
    return [info.alias or name for name, info in Spec.model_fields.items()]


def grid_of(settings: Iterable[str], values: JsonSchemaValue) -> JsonSchemaValue:
    """JSON Schema of a mapping from settings, or from keys in them such as `transport.min_rto`, to values."""
    key = f"^({'|'.join(settings)})(\\..+)?$"
    return {"type": "object", "patternProperties": {key: values}, "additionalProperties": False}


def make_spec(data: Mapping[str, Any], where: str = "") -> Spec:
    """Make a description from plain data, as read from YAML or the command line. Raises BadInput."""
    return validate(Spec, dict(data), where)


def read_spec(path: Path) -> dict[str, Any]:
    """Read a file's settings; paths in it are relative to the file."""
    return placed(read_yaml(path), path.parent)


def placed(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The settings of a file in `folder`, with paths relative to that folder resolved."""

    def at(value: Any) -> Any:
        if isinstance(value, list):
            return [at(item) for item in value]
        if isinstance(value, dict) and "trace" in value:
            return value | {"trace": str(folder / value["trace"])}
        is_file = isinstance(value, str) and value.partition(":")[0].endswith(
            (".p4", ".csv", ".py", ".yaml", ".yml", ".et")
        )
        return str(folder / value) if is_file else value

    files = ("schemes", "baseline", "controller", "workload", "topology", "flow_list", "training")
    return dict(settings) | {key: at(settings[key]) for key in files if key in settings}
