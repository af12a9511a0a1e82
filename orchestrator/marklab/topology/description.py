# SPDX-License-Identifier: MIT OR Apache-2.0
"""Topologies as users write them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from marklab.errors import BadInput, unknown
from marklab.model import Model, Rate, Time, written
from marklab.topology.graph import MAX_PORTS


class Built(Model):
    """What all builders know."""

    # Written as a mapping, it is the builder's name that tells it from links.
    model_config = ConfigDict(json_schema_extra={"required": ["builder"]})

    marking_nics: bool = Field(
        default=False, description="hosts' NICs have the queues and the scheme of a switch's port, as in ns-2 and ns-3"
    )


class Incast(Built):
    """Hosts h0, h1, ... at one switch s0 send to the last host."""

    builder: Literal["incast"] = "incast"
    senders: int = Field(default=7, ge=1, le=500)


class LeafSpine(Built):
    """Leaves l0, l1, ... with hosts each, every one linked to every spine p0, p1, ..."""

    builder: Literal["leaf-spine"] = "leaf-spine"
    leaves: int = Field(default=4, ge=2)
    spines: int = Field(default=4, ge=1)
    hosts: int = Field(default=8, ge=1, description="per leaf")
    pattern: Literal["inter-leaf", "any"] = "inter-leaf"


class FatTree(Built):
    """Tiers of switches of `radix` ports, half of them up and half down, but all of them down at the top.

    An edge switch is a pod of level 1, and a pod of level l is radix/2 pods of level l-1 with the switches of tier l
    above them; the top joins twice as many. Al-Fares, Loukissas, Vahdat: A Scalable, Commodity Data Center Network
    Architecture (SIGCOMM 2008) has it with three tiers.
    """

    builder: Literal["fat-tree"] = "fat-tree"
    tiers: int = Field(default=3, ge=2, le=16)
    radix: int = Field(default=4, ge=2, le=MAX_PORTS - 1)
    oversubscription: int = Field(default=1, ge=1, le=MAX_PORTS, description="hosts per uplink of an edge switch")
    pattern: str = Field(default="any", description="the smallest pod that both hosts of a pair are in")

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
        """Edge switches, and switches of every other tier but the top, which has half as many."""
        edges: int = 2 * (self.radix // 2) ** (self.tiers - 1)
        return edges

    @property
    def hosts_per_edge(self) -> int:
        """Hosts of an edge switch."""
        return self.oversubscription * self.radix // 2

    @property
    def levels(self) -> dict[str, int]:
        """Levels of the pods that hosts of a pair have in common, by the patterns that name them."""
        pods = {f"pod{level}": level for level in range(2, self.tiers)}
        return {"any": self.tiers, "rack": 1, **pods}


class LinkSpec(Model):
    """A link. An end is `node`, which takes its next free port, or `node:port`."""

    ends: tuple[str, str]
    rate_bps: Rate | None = Field(default=None, alias="rate")
    delay_ns: Time | None = Field(default=None, alias="delay")


class Links(Model):
    """A topology of your own, link by link.

    Unless said otherwise a link has the rate of the run, and all links the same delay, such that the longest way makes
    up the base RTT. `senders` and `receivers` limit who talks to whom. `bottleneck` names the lines (from, to) that
    load and utilisation are counted on; else it is the line that would be busiest.
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

# Also a builder with its settings, or a file, by name.
WrittenTopology = Topology | written(
    {"type": "string", "examples": ["incast:senders=16", "leaf-spine", "fat-tree:radix=6", "topologies/web.yaml"]}
)

BUILDERS: dict[str, type[Incast] | type[LeafSpine] | type[FatTree]] = {
    "incast": Incast,
    "leaf-spine": LeafSpine,
    "fat-tree": FatTree,
}
