# SPDX-License-Identifier: MIT OR Apache-2.0
"""Topologies as users write them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from marklab.errors import BadInput, unknown
from marklab.model import Model, Rate, Time, written
from marklab.topology.graph import MAX_PORTS


class Built(Model):
    """Settings of all builders."""

    # In a mapping, the builder's name distinguishes it from a topology of links.
    model_config = ConfigDict(json_schema_extra={"required": ["builder"]})

    marking_nics: bool = Field(
        default=False, description="hosts' NICs have the queues and the scheme of a switch's port, as in ns-2 and ns-3"
    )


class Incast(Built):
    """Hosts h0, h1, ... at one switch s0 send to the last host."""

    builder: Literal["incast"] = "incast"
    senders: int = Field(default=7, ge=1, le=500)


class LeafSpine(Built):
    """Leaves l0, l1, ..., each with hosts and with a link to every spine p0, p1, ..."""

    builder: Literal["leaf-spine"] = "leaf-spine"
    leaves: int = Field(default=4, ge=2)
    spines: int = Field(default=4, ge=1)
    hosts: int = Field(default=8, ge=1, description="per leaf")
    pattern: Literal["inter-leaf", "any"] = "inter-leaf"


class FatTree(Built):
    """Tiers of switches with `radix` ports: half of them lead up and half down, at the top all of them lead down.

    An edge switch is a pod of level 1. A pod of level l consists of radix/2 pods of level l-1 and the switches of tier
    l above them; the top tier joins radix pods. Source, with three tiers: Al-Fares, Loukissas, Vahdat: A Scalable,
    Commodity Data Center Network Architecture (SIGCOMM 2008).
    """

    builder: Literal["fat-tree"] = "fat-tree"
    tiers: int = Field(default=3, ge=2, le=16)
    radix: int = Field(default=4, ge=2, le=MAX_PORTS - 1)
    oversubscription: int = Field(default=1, ge=1, le=MAX_PORTS, description="hosts per uplink of an edge switch")
    pattern: str = Field(default="any", description="pairs of hosts: any, or those within one rack, pod2, ...")

    @field_validator("radix")
    @classmethod
    def _half_up(cls, radix: int) -> int:
        if radix % 2:
            raise BadInput(f"half of {radix} ports cannot lead up", f"an even number: {radix - 1} or {radix + 1}")
        return radix

    @model_validator(mode="after")
    def _known_pattern(self) -> FatTree:
        if self.pattern not in self.levels:
            raise unknown(f"pattern of {self.tiers} tiers", self.pattern, self.levels)
        return self

    @property
    def edges(self) -> int:
        """Number of edge switches. Every other tier has as many switches, except the top, which has half as many."""
        edges: int = 2 * (self.radix // 2) ** (self.tiers - 1)
        return edges

    @property
    def hosts_per_edge(self) -> int:
        """Number of hosts of an edge switch."""
        return self.oversubscription * self.radix // 2

    @property
    def levels(self) -> dict[str, int]:
        """Level of the pod that the hosts of a pair share, by pattern."""
        pods = {f"pod{level}": level for level in range(2, self.tiers)}
        return {"any": self.tiers, "rack": 1, **pods}


class LinkSpec(Model):
    """A link. An end is `node`, which takes its next free port, or `node:port`."""

    ends: tuple[str, str]
    rate_bps: Rate | None = Field(default=None, alias="rate")
    delay_ns: Time | None = Field(default=None, alias="delay")


class Links(Model):
    """A topology of your own, link by link.

    By default a link has the rate of the run, and all links have the same delay, with which the longest path has the
    base RTT. `senders` and `receivers` limit the hosts that send and receive. `bottleneck` names the lines (from, to)
    on which load and utilisation are counted; by default it is the line with the highest expected load.
    """

    hosts: tuple[str, ...] = Field(min_length=2)
    switches: tuple[str, ...] = ()
    links: tuple[LinkSpec, ...] = Field(min_length=1)
    senders: tuple[str, ...] | None = None
    receivers: tuple[str, ...] | None = None
    bottleneck: tuple[tuple[str, str], ...] | None = None

    @field_validator(
        "links",
        mode="before",
        json_schema_input_type=Annotated[tuple[tuple[str, str] | LinkSpec, ...], Field(min_length=1)],
    )
    @classmethod
    def _short_links(cls, links: Any) -> Any:
        if not isinstance(links, (list, tuple)):
            return links
        return [{"ends": link} if isinstance(link, (list, tuple)) else link for link in links]


Topology = Incast | LeafSpine | FatTree | Links

# A topology, or text: the name of a builder with settings, or the path of a file.
WrittenTopology = Topology | written(
    {"type": "string", "examples": ["incast:senders=16", "leaf-spine", "fat-tree:radix=6", "topologies/web.yaml"]}
)

BUILDERS: dict[str, type[Incast] | type[LeafSpine] | type[FatTree]] = {
    "incast": Incast,
    "leaf-spine": LeafSpine,
    "fat-tree": FatTree,
}
