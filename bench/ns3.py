# SPDX-License-Identifier: MIT OR Apache-2.0
"""The same flows in Marklab's simulator and in ns-3: speed and flow completion times, in one run.

    make -C bench/peers/ns3
    .venv/bin/python bench/ns3.py incast --flows 1000 --seeds 3
    .venv/bin/python bench/ns3.py leaf-spine --flows 1000 --seeds 3

Both have one new connection per flow and the same links, queue limit, threshold and TCP parameters, as far as
ns-3 supports them; Marklab's hosts have the profile `ns-3.37`. Marklab runs twice per seed, before and after ns-3; its
CPU time is the mean.

ns-3 runs with its defaults: TCP timestamps, a std::map as event set. With --tuned it has no timestamps, and its fastest
event set.
"""

from __future__ import annotations

import csv
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

from marklab.engine import binding as engine
from marklab.fabrics import Cell, Sim
from marklab.ns3.peer import FOLDER, play
from marklab.prepare.experiment import Experiment, prepare
from marklab.results.summary import LARGE_BYTES, SHORT_BYTES
from marklab.spec.description import make_spec
from marklab.traffic.flows import FlowList

RATE_BPS = 10**10
# ns-3's queue discs count neither the packet in the device below them nor the one on the wire; ours counts the first.
# Ours marks a packet that finds more than k packets, RED one that finds k or more. So k is the same in both.
K = 167
# One-way delay of each sender's link and, last, the receiver's: RTTs of 70..210 us.
INCAST_DELAYS_NS = [25_000, 27_500, 30_000, 32_500, 37_500, 55_000, 95_000, 10_000]
LEAF_SPINE_DELAY_NS = 10_000

# Settings that differ from Marklab's defaults so that both model the same: the NIC is a FIFO of unlimited length, each
# segment is acknowledged, and the window grows even if it is not used.
LIKE_NS3: dict[str, Any] = {
    "schemes": [f"dctcp-red:k={K}"],
    "baseline": "none",
    "rate": RATE_BPS,
    "queue": 600,
    "nic": {"discipline": "fifo", "limit_packets": 10**9, "budget": 2**40},
    "connections": "new",
    "stop": "100s",
}
TRANSPORT = {
    "control": "dctcp",
    "stack": "ns-3.37",
    "ack_every": 1,
    "receive_window": 2**20,
    "cwnd_validation": False,
}


@dataclass(frozen=True)
class Peer:
    """Options of ns-3, and how Marklab models the same packets."""

    options: tuple[str, ...]
    mss_bytes: int
    overhead_bytes: int

    def like(self) -> dict[str, Any]:
        """Settings of Marklab's run."""
        framing = {"min_bytes": 0, "overhead_bytes": self.overhead_bytes}
        return LIKE_NS3 | {"framing": framing, "transport": TRANSPORT | {"mss": self.mss_bytes}}


# Links carry the IP packet and 2 bytes of PPP, 12 bytes less than our Ethernet frame; TCP timestamps take 12 bytes.
DEFAULT = Peer(("--scheduler=map", "--timestamps=true", "--segment=1448"), 1448, 0)
TUNED = Peer(("--scheduler=priority", "--timestamps=false", "--segment=1460"), 1460, -12)


@dataclass(frozen=True)
class Scenario:
    """A network in both simulators, and the flows on it."""

    topology: dict[str, Any]
    traffic_topology: str
    peer: tuple[str, ...]
    load: float


def incast() -> Scenario:
    """Seven senders with different RTTs, one receiver."""
    hosts = [f"h{number}" for number in range(len(INCAST_DELAYS_NS))]
    links = [{"ends": [host, "s0"], "delay": f"{delay}ns"} for host, delay in zip(hosts, INCAST_DELAYS_NS, strict=True)]
    topology = {"hosts": hosts, "switches": ["s0"], "links": links, "receivers": hosts[-1:], "senders": hosts[:-1]}
    delays = ",".join(map(str, INCAST_DELAYS_NS))
    return Scenario(topology, "incast", ("--topology=incast", "--senders=7", f"--delays_ns={delays}"), 0.8)


def leaf_spine() -> Scenario:
    """4 x 4 x 8."""
    text = "leaf-spine:leaves=4,spines=4,hosts=8"
    sizes = ("--leaves=4", "--spines=4", "--hosts_per_leaf=8", f"--link_delay_ns={LEAF_SPINE_DELAY_NS}")
    return Scenario({}, text, ("--topology=leaf-spine", *sizes), 0.6)


SCENARIOS = {"incast": incast, "leaf-spine": leaf_spine}


def experiment_of(scenario: Scenario, peer: Peer, flow_list: Path) -> Experiment:
    """Our run of a flow list."""
    # An RTT between leaves has 8 link delays.
    settings = {"topology": scenario.topology or scenario.traffic_topology, "rtt": f"{8 * LEAF_SPINE_DELAY_NS}ns"}
    return prepare(make_spec(peer.like() | settings | {"flow_list": str(flow_list), "seeds": 1}))


def draw_flows(scenario: Scenario, flows: int, seed: int, folder: Path) -> tuple[Path, FlowList]:
    """Draw a flow list as Marklab does, and write it to a file for Marklab."""
    spec = make_spec(
        LIKE_NS3
        | {"topology": scenario.traffic_topology, "rtt": "80us", "load": scenario.load, "flows": flows}
        | {"first_seed": seed, "seeds": 1}
    )
    drawn = prepare(spec).flow_lists[seed]
    ours = folder / "flows.csv"
    rows = zip(drawn.start_ns, drawn.src, drawn.dst, drawn.size_bytes, strict=True)
    with ours.open("w", newline="") as file:
        csv.writer(file).writerows([("start_ns", "src", "dst", "size_bytes"), *rows])
    return ours, drawn


@dataclass(frozen=True)
class Run:
    """Results of a simulator for a flow list."""

    size_bytes: NDArray[np.uint64]
    fct_us: NDArray[np.float64]
    cpu_s: float
    transmissions: int
    marks: int
    drops: int
    timeouts: int

    def means_us(self) -> tuple[float, float, float]:
        """Mean FCT overall, short and large."""
        short, large = self.size_bytes <= SHORT_BYTES, self.size_bytes > LARGE_BYTES
        return tuple(float(self.fct_us[part].mean()) for part in (slice(None), short, large))  # type: ignore[return-value]


def run_marklab(experiment: Experiment) -> Run:
    """Marklab, one run in this thread."""
    (seed,) = experiment.spec.seed_numbers
    cell = Cell(experiment, experiment.schemes[0], seed)
    seen = Sim().run(cell, engine.new_watch())
    fct = seen.fct_ns.astype(np.float64)
    if (fct <= 0).any():
        raise SystemExit("Marklab did not finish all flows")
    report = seen.report
    return Run(
        experiment.flow_lists[seed].size_bytes,
        fct / 1e3,
        seen.cpu_s,
        report["link_transmissions"],
        sum(port["marked"] for port in report["ports"]),
        sum(drop["packets"] for drop in report["drops"]),
        int(seen.per_flow["timeouts"].sum()),
    )


def run_ns3(scenario: Scenario, flows: FlowList, options: tuple[str, ...]) -> Run:
    """ns-3."""
    played = play(FOLDER / "peer", flows, [f"--k_packets={K}", *scenario.peer, *options])
    if (played.fct_ns < 0).any():
        raise SystemExit("ns-3 did not finish all flows")
    counts = [int(played.number(name)) for name in ("link_transmissions", "marks", "drops", "rtos")]
    return Run(flows.size_bytes, played.fct_ns / 1e3, played.number("run_cpu_seconds"), *counts)


def row(table: Table, name: str, run: Run, base: Run | None = None) -> None:
    """Add a run to the table, with differences from a base."""
    cells = [f"{mean:,.0f}" for mean in run.means_us()]
    if base is not None:
        differences = zip(run.means_us(), base.means_us(), strict=True)
        cells = [f"{cell} ({mine / other - 1:+.1%})" for cell, (mine, other) in zip(cells, differences, strict=True)]
    speed = run.transmissions / run.cpu_s
    counts = f"{run.marks:,}", f"{run.drops:,}", str(run.timeouts), f"{run.transmissions:,}"
    ratio = "" if base is None else f"{speed / (base.transmissions / base.cpu_s):.1f}"
    table.add_row(name, *cells, *counts, f"{run.cpu_s:.2f}", f"{speed:,.0f}", ratio)


def joined(runs: list[Run]) -> Run:
    """The runs of all seeds as one run."""
    totals = [sum(getattr(run, name) for run in runs) for name in ("transmissions", "marks", "drops", "timeouts")]
    sizes = np.concatenate([run.size_bytes for run in runs])
    fct = np.concatenate([run.fct_us for run in runs])
    return Run(sizes, fct, sum(run.cpu_s for run in runs), *totals)


def main(
    name: Annotated[str, typer.Argument(metavar="|".join(SCENARIOS))],
    flows: int = 1000,
    seeds: int = 3,
    tuned: Annotated[bool, typer.Option("--tuned", help="ns-3 with its fastest settings, not its defaults")] = False,
    peer_options: Annotated[
        list[str] | None, typer.Option("--peer", metavar="OPTION", help="further option of the peer")
    ] = None,
) -> None:
    """Compare on a scenario."""
    if name not in SCENARIOS:
        raise typer.BadParameter(f"there is no scenario {name}: {', '.join(SCENARIOS)}")
    kind = TUNED if tuned else DEFAULT
    scenario = SCENARIOS[name]()
    columns = [
        "overall us",
        "short us",
        "large us",
        "marks",
        "drops",
        "timeouts",
        "transmissions",
        "CPU s",
        "per CPU s",
    ]
    table = Table("run", *columns, "ratio", title=f"{name}, {flows} flows per seed, load {scenario.load}")
    pairs: list[tuple[Run, Run]] = []
    for seed in track(range(1, seeds + 1), console=Console(stderr=True)):
        with tempfile.TemporaryDirectory() as folder:
            ours, drawn = draw_flows(scenario, flows, seed, Path(folder))
            experiment = experiment_of(scenario, kind, ours)
            before = run_marklab(experiment)
            peer = run_ns3(scenario, drawn, (*kind.options, *(peer_options or [])))
            after = run_marklab(experiment)
        mean_cpu_s = (before.cpu_s + after.cpu_s) / 2
        pairs.append((Run(**{**before.__dict__, "cpu_s": mean_cpu_s}), peer))
        row(table, f"ns-3, seed {seed}", peer)
        row(table, f"Marklab, seed {seed}", pairs[-1][0], peer)
    all_ours, all_peers = (joined(list(runs)) for runs in zip(*pairs, strict=True))
    table.add_section()
    row(table, "ns-3", all_peers)
    row(table, "Marklab", all_ours, all_peers)
    Console(width=max(150, Console().width)).print(table)


if __name__ == "__main__":
    typer.run(main)
