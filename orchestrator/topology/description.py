"""Topologies as users write them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from orchestrator.model import Model, Rate, Time


class Built(Model):
    """What all builders know."""

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


class LinkSpec(Model):
    """A link. An end is `node`, which takes its next free port, or `node:port`."""

    ends: tuple[str, str]
    rate_bps: Rate | None = Field(default=None, alias="rate")
    delay_ns: Time | None = Field(default=None, alias="delay")


class Links(Model):
    """A topology of one's own, link by link.

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

    @field_validator("links", mode="before")
    @classmethod
    def _short_links(cls, links: Any) -> Any:
        if not isinstance(links, (list, tuple)):
            return links
        return [{"ends": link} if isinstance(link, (list, tuple)) else link for link in links]


Topology = Incast | LeafSpine | Links

BUILDERS: dict[str, type[Incast] | type[LeafSpine]] = {"incast": Incast, "leaf-spine": LeafSpine}
