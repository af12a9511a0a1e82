# SPDX-License-Identifier: MIT OR Apache-2.0
"""Jobs of parallel training: collectives as flows that wait for each other."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import proto
from hypothesis import given
from hypothesis import strategies as st

from marklab.errors import BadInput
from marklab.execution.cells import run_cells
from marklab.fabrics import Cell, Sim
from marklab.metrics.cell import seed_result
from marklab.prepare.experiment import Experiment, prepare
from marklab.prepare.ideal import ideal_ns
from marklab.prepare.jobs import job_flows, job_hosts
from marklab.results.metric import find_metric
from marklab.results.observation import Observation
from marklab.results.summary import JobSample
from marklab.spec.description import make_spec
from marklab.traffic.chakra import Kind, messages
from marklab.traffic.flows import FlowList
from marklab.traffic.jobs import COLLECTIVES, Job

HOSTS = tuple(f"h{number}" for number in range(8))
KINDS = ("all-reduce", "all-reduce:algorithm=tree", "all-reduce:algorithm=tree,pieces=3", *COLLECTIVES[1:])


def job(text: str, **settings: object) -> Job:
    return Job.model_validate(Job.model_validate(text).model_dump(by_alias=True, exclude_none=True) | settings)


@dataclass
class Replayed:
    """When flows start and end, and joins are reached, if a flow takes as long as `takes` says."""

    starts: list[int]
    ends: list[int]
    reached: list[int]


def replay(flows: FlowList, takes: Sequence[int]) -> Replayed:
    """A second implementation of waiting: over and over, until nothing changes."""
    joins, count = flows.joins, len(flows)
    starts, ends, reached = [-1] * count, [-1] * count, [-1] * len(joins.host)
    waits: list[list[tuple[int, int, int]]] = [[] for _ in joins.host]
    columns = (joins.wait_join, joins.wait_flow, joins.wait_on, joins.wait_pause_ns)
    for of, flow, on, pause in zip(*(column.tolist() for column in columns), strict=True):
        waits[of].append((flow, on, pause))
    changed = True
    while changed:
        changed = False
        for number in range(len(reached)):
            befores = [ends[flow] if flow >= 0 else reached[on] for flow, on, _ in waits[number]]
            if reached[number] < 0 and all(before >= 0 for before in befores):
                times = [before + pause for before, (_, _, pause) in zip(befores, waits[number], strict=True)]
                reached[number], changed = max([int(joins.not_before_ns[number]), *times]), True
        for number in range(count):
            after, join = int(flows.after[number]), int(flows.after_join[number])
            before = 0 if after < 0 and join < 0 else ends[after] if after >= 0 else reached[join]
            own_ns = int(flows.for_engine()["start_ns"][number]) if starts[number] < 0 and before >= 0 else 0
            if starts[number] < 0 and before >= 0:
                starts[number], ends[number], changed = before + own_ns, before + own_ns + takes[number], True
    return Replayed(starts, ends, reached)


def test_the_flows_of_a_ring_by_hand() -> None:
    """Three hosts, seven bytes: parts of 2, 2 and 3 bytes. Host i begins with part i, and sends on what it got."""
    flows = job_flows([job("all-reduce:size=7,iterations=1")], HOSTS[:3], seed=1)
    rows = list(zip(flows.src.tolist(), flows.dst.tolist(), flows.size_bytes.tolist(), strict=True))
    around = [(0, 1), (1, 2), (2, 0)]
    sizes = [(2, 2, 3), (3, 2, 2), (2, 3, 2), (2, 2, 3)]
    assert rows == [(src, dst, size) for step in sizes for (src, dst), size in zip(around, step, strict=True)]


@given(st.sampled_from(KINDS), st.integers(2, 7), st.integers(7, 10**6), st.integers(1, 3))
def test_a_collective_has_its_bytes(kind: str, count: int, size: int, iterations: int) -> None:
    described = job(kind, size=size, hosts=count, iterations=iterations)
    flows = job_flows([described], HOSTS, seed=3)
    total = int(flows.size_bytes.sum()) / iterations
    expected = {"all-reduce": 2 * (count - 1), "all-gather": count - 1, "reduce-scatter": count - 1}
    if described.collective == "all-to-all":
        # Each host keeps its own part.
        assert total == pytest.approx((count - 1) * size, abs=count)
    else:
        assert total == expected[described.collective] * size


@given(
    st.sampled_from(KINDS),
    st.integers(2, 6),
    st.integers(0, 5000),
    st.integers(0, 9000),
    st.integers(0, 2**31),
    st.data(),
)
def test_no_host_has_the_result_before_what_it_is_made_of(
    kind: str, count: int, compute: int, spread: int, seed: int, data: st.DataObject
) -> None:
    """Whatever flows take: a host sends after it has computed, and an iteration follows the host's one before."""
    described = job(kind, size=9999, hosts=count, iterations=2, compute=f"{compute}ns", spread=f"{spread}ns")
    flows = job_flows([described], HOSTS, seed)
    takes = data.draw(st.lists(st.integers(1, 10_000), min_size=len(flows), max_size=len(flows)))
    seen = replay(flows, takes)
    assert min(seen.starts) >= 0, "all flows start"
    computed = np.zeros(count, dtype=int)
    for iteration in range(2):
        own = flows.iteration == iteration
        sent = [[seen.starts[row] for row in np.flatnonzero(own & (flows.src == host))] for host in range(count)]
        first_sent = [min(times, default=0) for times in sent]

        has_all = [max(seen.ends[row] for row in np.flatnonzero(own & (flows.dst == host))) for host in range(count)]
        if described.collective == "all-reduce" and described.algorithm is None:
            # Each part of the sum has passed through all hosts, so nobody is done before all have begun.
            assert min(has_all) > max(first_sent)
        for host in range(count):
            assert not sent[host] or first_sent[host] >= computed[host] + compute
        computed = np.array(has_all)


@pytest.mark.parametrize("kind", KINDS)
def test_flows_are_in_order_and_wait_for_what_is_above(kind: str) -> None:
    flows = job_flows([job(kind, size=9999, spread="1ms"), job(kind, name="b", hosts=3, start="2ms")], HOSTS, 5)
    assert (np.diff(flows.start_ns.astype(np.int64)) >= 0).all()
    assert (flows.after < np.arange(len(flows))).all()
    begun = flows.for_engine()["start_ns"]
    assert (begun <= flows.start_ns).all(), "nothing waits for what comes later"


def test_hosts_are_placed() -> None:
    assert job_hosts(job("all-reduce:hosts=3"), HOSTS, 1, 0).tolist() == [0, 1, 2]
    assert job_hosts(job("all-reduce:hosts=4,placement=spread"), HOSTS, 1, 0).tolist() == [0, 2, 4, 6]
    assert job_hosts(job("all-reduce:hosts=h5/1"), HOSTS, 1, 0).tolist() == [5, 1]
    drawn = [job_hosts(job("all-reduce:hosts=8,placement=random"), HOSTS, seed, 0).tolist() for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]
    assert sorted(drawn[0]) == list(range(8))


def experiment(*jobs: str, **settings: object) -> Experiment:
    plain = {"schemes": ["dctcp-red"], "baseline": "none", "seeds": 1, "rtt": "20us", "training": list(jobs)}
    return prepare(make_spec(plain | settings))


def observe(ready: Experiment, threads: int = 1) -> Observation:
    return run_cells(Sim(), [Cell(ready, ready.schemes[0], 1, threads=threads)], 1, lambda _: None)[0]


def prepared_flows(plain: dict[str, object]) -> FlowList:
    return prepare(make_spec(plain)).flow_lists[1]


def sample(ready: Experiment) -> dict[str, JobSample]:
    return seed_result(ready, ready.schemes[0], observe(ready)).jobs


def formula_us(ready: Experiment, count: int, steps: int) -> float:
    """alpha + S/n beta, as many times as there are steps: the time of one part alone, by closed form."""
    flows = ready.flow_lists[1]
    parts = ideal_ns(ready.spec, ready.network, flows)
    return steps * float(parts.max()) / 1e3


@pytest.mark.parametrize(("collective", "steps"), [("all-reduce", 2 * 7), ("all-gather", 7), ("reduce-scatter", 7)])
def test_a_ring_alone_takes_what_the_formula_says(collective: str, steps: int) -> None:
    """Parts of 100 segments, on connections whose windows have grown."""
    ready = experiment(f"{collective}:size={8 * 100 * 1460},iterations=8", topology="incast:senders=7")
    found = sample(ready)[collective]
    assert (found.iterations, found.of) == (8, 8)
    assert found.iteration_us.p50 == pytest.approx(formula_us(ready, 8, steps), rel=0.05)


def test_all_to_all_fills_the_lines() -> None:
    """Each line carries n - 1 parts there and back, and acknowledgements."""
    count, part = 8, 200 * 1460
    ready = experiment(f"all-to-all:size={count * part},iterations=6", topology="incast:senders=7")
    found = sample(ready)["all-to-all"]
    line_us = (count - 1) * 200 * (1460 + 78) * 8 / 1e4
    assert found.iteration_us.p50 == pytest.approx(1.05 * line_us, rel=0.1)


def test_computation_is_part_of_an_iteration() -> None:
    base = sample(experiment("all-gather:size=80KB,iterations=4", topology="incast:senders=7"))["all-gather"]
    more = sample(experiment("all-gather:size=80KB,iterations=4,compute=1ms", topology="incast:senders=7"))[
        "all-gather"
    ]
    assert base.iteration_us.mean is not None
    assert more.iteration_us.mean == pytest.approx(base.iteration_us.mean + 1000, rel=0.1)
    assert more.done_us is not None
    assert more.done_us == pytest.approx(4 * (more.iteration_us.mean or 0))


def test_jobs_share_a_network_with_other_flows() -> None:
    ready = experiment(
        "all-reduce:size=800KB,hosts=4", "all-to-all:size=800KB,hosts=4", topology="incast:senders=7", flows=50
    )
    assert len(ready.flow_lists[1]) == 3 * 2 * 3 * 4 + 3 * 3 * 4 + 50
    found = sample(ready)
    assert {name: each.iterations for name, each in found.items()} == {"all-reduce": 3, "all-to-all": 3}


def test_rdma_carries_jobs() -> None:
    ready = experiment("all-reduce:size=8MB", topology="incast:senders=7", transport="dcqcn", pfc="on")
    assert sample(ready)["all-reduce"].iteration_us.p50 == pytest.approx(formula_us(ready, 8, 14), rel=0.05)


def test_threads_make_no_difference() -> None:
    ready = experiment("all-reduce:size=800KB,spread=10us", topology="leaf-spine:leaves=2,spines=2,hosts=4")
    one, two = (observe(ready, threads) for threads in (1, 2))
    assert (one.fct_ns == two.fct_ns).all()
    assert (one.flows.start_ns == two.flows.start_ns).all()


def test_an_end_cuts_iterations() -> None:
    ready = experiment("all-reduce:size=8MB,iterations=50", topology="incast:senders=7", until="50ms")
    found = sample(ready)["all-reduce"]
    assert 0 < found.iterations < found.of == 50
    assert found.done_us is None
    assert found.iteration_us.n == found.iterations


@dataclass
class Operation:
    """A node of a trace to be written."""

    number: int
    kind: Kind
    waits: tuple[int, ...] = ()
    duration_us: int = 0
    attributes: dict[str, int | str] = field(default_factory=dict)


def written_trace(folder: Path, *ranks: Sequence[Operation]) -> str:
    metadata, node = messages()
    for rank, operations in enumerate(ranks):
        stream = BytesIO()
        proto.serialize_length_prefixed(metadata(version="0.0.4"), stream)
        for each in operations:
            made = node(id=each.number, name=f"op{each.number}", type=each.kind, duration_micros=each.duration_us)
            made.data_deps.extend(each.waits)
            for name, value in each.attributes.items():
                made.attr.add(name=name, **{"string_val" if isinstance(value, str) else "int64_val": value})
            proto.serialize_length_prefixed(made, stream)
        (folder / f"made.{rank}.et").write_bytes(stream.getvalue())
    return str(folder / "made.et")


def collective(number: int, kind: int, size: int, *waits: int, **more: int | str) -> Operation:
    return Operation(number, Kind.COLLECTIVE, waits, 0, {"comm_type": kind, "comm_size": size} | more)


def sends(number: int, other: int, size: int, *waits: int) -> Operation:
    return Operation(number, Kind.SEND, waits, 0, {"comm_dst": other, "comm_size": size})


def receives(number: int, other: int, *waits: int) -> Operation:
    return Operation(number, Kind.RECV, waits, 0, {"comm_src": other})


def pipeline(folder: Path, stages: int, batches: int, compute_us: int, size: int) -> str:
    """Each stage computes each batch when it has received it, one after the other, and sends it on."""
    ranks = []
    for stage in range(stages):
        rank = []
        for batch in range(batches):
            base = 3 * batch
            before = (base + 1 - 3,) if batch else ()
            if stage:
                rank.append(receives(base, stage - 1))
                before += (base,)
            rank.append(Operation(base + 1, Kind.COMP, before, compute_us))
            if stage < stages - 1:
                rank.append(sends(base + 2, stage + 1, size, base + 1))
        ranks.append(rank)
    return written_trace(folder, *ranks)


def test_a_pipeline_takes_what_its_formula_says(tmp_path: Path) -> None:
    """The last batch leaves the last but one stage after it was computed by all of them, one after the other."""
    path = pipeline(tmp_path, stages=4, batches=5, compute_us=1000, size=146_000)
    ready = experiment(path, topology="incast:senders=7")
    found = sample(ready)["made"]
    part_us = float(ideal_ns(ready.spec, ready.network, ready.flow_lists[1]).max()) / 1e3
    assert found.done_us == pytest.approx((4 - 2 + 5) * 1000 + 3 * part_us, rel=0.02)


def test_a_trace_of_a_collective_is_the_collective(tmp_path: Path) -> None:
    size = 8 * 14600
    computed = [Operation(1, Kind.COMP, (), 50), collective(2, 0, size, 1), collective(3, 0, size, 2)]
    traced = experiment(written_trace(tmp_path, *[computed] * 8), topology="incast:senders=7")
    plain = experiment(f"all-reduce:size={size},iterations=2,compute=50us", topology="incast:senders=7")
    first = [sample(each) for each in (traced, plain)]
    assert len(traced.flow_lists[1]) == len(plain.flow_lists[1])
    assert first[0]["made"].done_us == pytest.approx((first[1]["all-reduce"].done_us or 0) - 50, abs=1)


def test_groups_of_a_trace_have_collectives_of_their_own(tmp_path: Path) -> None:
    """The k-th collectives of a group belong together, whatever other groups do in between."""
    even = [collective(1, 2, 1000, pg_name="even"), collective(2, 0, 4000, 1, pg_name="all")]
    odd = [collective(2, 0, 4000, pg_name="all")]
    path = written_trace(tmp_path, even, odd, even, odd)
    flows = experiment(path, topology="incast:senders=7").flow_lists[1]
    gathered = flows.size_bytes == 1000
    pairs = sorted(zip(flows.src[gathered].tolist(), flows.dst[gathered].tolist(), strict=True))
    # All-gather around two hosts, with parts of 1,000 bytes, and all-reduce around four, also with such parts.
    assert len(flows) == 2 + 4 * 6
    assert set(pairs) == {(0, 2), (2, 0), (0, 1), (1, 2), (2, 3), (3, 0)}


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ([[collective(1, 0, 9, 2), collective(2, 0, 9, 1)]] * 2, "waits in a cycle: rank 0, node 1"),
        ([[sends(1, 1, 9, 2), receives(2, 1)], [sends(1, 0, 9, 2), receives(2, 0)]], "waits in a cycle"),
        ([[sends(1, 1, 9)], []], "rank 1 never receives it"),
        ([[], [receives(1, 0)]], "rank 0 sends nothing for it"),
        ([[sends(1, 5, 9)], []], "has the peer 5"),
        ([[collective(1, 0, 9)], [collective(1, 0, 10)]], "another collective or size"),
        ([[collective(1, 5, 9)]] * 2, "a collective of type 5"),
        ([[collective(1, 0, 9, 7)]] * 2, "waits for 7, which is not there"),
        ([[Operation(1, Kind.COMP, (), 0, {"num_ops": 5})]] * 2, "no model of a machine"),
        ([[Operation(1, Kind.COMP, (), 5)]] * 2, "communicates nothing"),
        ([[Operation(1, Kind.SEND, (), 0, {"comm_dst": 1})], [receives(1, 0)]], "has no number `comm_size`"),
        ([[sends(1, 1, 9)], [receives(1, 0)], *[[]] * 7], "needs 9 hosts"),
    ],
)
def test_a_trace_that_cannot_run_is_named(tmp_path: Path, ranks: Sequence[Sequence[Operation]], message: str) -> None:
    plain = {"training": written_trace(tmp_path, *ranks), "schemes": ["dctcp-red"], "topology": "incast:senders=7"}
    with pytest.raises(BadInput) as refused:
        prepared_flows(plain)
    assert message in str(refused.value)


def test_files_that_are_no_traces_are_named(tmp_path: Path) -> None:
    path = tmp_path / "made.et"
    plain: dict[str, object] = {"training": str(path), "schemes": ["dctcp-red"]}
    with pytest.raises(BadInput, match=r"there is no execution trace .*made\.0\.et"):
        prepared_flows(plain)
    (tmp_path / "made.0.et").write_bytes(b"hello, this is text")
    with pytest.raises(BadInput, match="is not in Chakra's format"):
        prepared_flows(plain)
    (tmp_path / "made.0.et").write_bytes(b"")
    with pytest.raises(BadInput, match="is empty"):
        prepared_flows(plain)


def test_a_trace_that_has_changed_is_refused(tmp_path: Path) -> None:
    path = written_trace(tmp_path, *[[collective(1, 0, 9)]] * 2)
    spec = make_spec({"schemes": ["dctcp-red"], "training": path})
    written_trace(tmp_path, *[[collective(1, 0, 99)]] * 2)
    with pytest.raises(BadInput, match="has changed"):
        make_spec(spec.to_plain())


def test_metrics_of_jobs_have_names() -> None:
    assert find_metric("job.all-reduce.done").needs == ("training",)
    assert find_metric("job.my.job.iteration.p99").unit == "µs"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"training": "all-redoce"}, "collective"),
        ({"training": "all-reduce:size=3,hosts=8"}, "too few for 8 parts"),
        ({"training": "all-reduce:hosts=99"}, "needs 99 hosts, and the network has 8"),
        ({"training": "all-reduce:hosts=1"}, "at least 2 hosts"),
        ({"training": "all-reduce:hosts=h1/h1"}, "have to be different"),
        ({"training": "all-reduce:hosts=h1/nobody"}, "nobody"),
        ({"training": "all-gather:algorithm=tree"}, "all-gather has no tree"),
        ({"training": "all-to-all:algorithm=ring"}, "has no algorithm"),
        ({"training": "all-reduce:pieces=4"}, "algorithm: tree"),
        ({"training": ["all-reduce", "all-reduce"]}, "two jobs of this run are called"),
        ({"training": "all-reduce", "mininet": {}}, "simulated only"),
        ({"training": "all-reduce", "trace_flows": "1ms"}, "trace_flows"),
        ({"workload": "all-reduce"}, "--training all-reduce"),
    ],
)
def test_what_cannot_be_is_named(settings: dict[str, object], message: str) -> None:
    plain = {"schemes": ["dctcp-red"], "topology": "incast:senders=7", "seeds": 1, "rtt": "20us"} | settings
    with pytest.raises(BadInput) as refused:
        prepared_flows(plain)
    assert message in f"{refused.value} {refused.value.remedy}"
