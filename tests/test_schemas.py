# SPDX-License-Identifier: MIT OR Apache-2.0
"""JSON Schemas of the YAML files that users write: they are published, and agree with the models."""

from __future__ import annotations

import copy
import functools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from marklab import units
from marklab.api import schemas
from marklab.catalog.description import SchemeSpec
from marklab.catalog.scheme import known_schemes
from marklab.catalog.twin import TwinSpec
from marklab.comparison import policy as comparison_policy
from marklab.errors import BadInput
from marklab.hosts.causes import Differences
from marklab.hosts.script import Script
from marklab.lab.live import SwitchDescription
from marklab.model import read_yaml, validate
from marklab.ns3.scenario import Scenario
from marklab.papers.experiment import PaperExperiment, known_experiments, load_experiment, runs_of
from marklab.papers.papers import Paper
from marklab.paths import REPOSITORY
from marklab.promotion import policy as promotion_policy
from marklab.spec.description import make_spec
from marklab.studio.lesson import Lesson
from marklab.sweeps.description import GRID, Sweep, checked
from marklab.topology import parse_topology
from pages import PAGES, blocks
from sources import tracked

PUBLISHED = REPOSITORY / "docs" / "schemas"

# Files of other programs, whose schemas tests/test_project.py checks, and lists of the lab itself.
OF_OTHERS = {
    ".github",
    "docker-compose.yml",
    "docker/real-time.yml",
    "mkdocs.yml",
    "orchestrator/marklab/p4tools/stf/messages.yaml",
    "orchestrator/marklab/p4tools/peers/verdicts.yaml",
    "tests/promotion/mutants.yaml",
    "tests/schemes/bursts/schemes.yaml",
    "traffic/pias.yaml",
}


def _sweep(plain: Mapping[str, Any]) -> None:
    settings = dict(plain)
    grid = settings.pop(GRID, {})
    values = {key: tuple(each) if isinstance(each, list) else (each,) for key, each in grid.items()}
    make_spec({"schemes": "tcn"} | settings)
    checked(Sweep({"schemes": "tcn"} | settings, values))


# The lab's reader for each schema.
READERS: Mapping[str, Callable[[Any], object]] = {
    "spec": lambda plain: make_spec({"schemes": "tcn"} | plain),
    "sweep": _sweep,
    "topology": parse_topology,
    "scheme": lambda plain: validate(SchemeSpec, plain, ""),
    "twin": lambda plain: validate(TwinSpec, plain, ""),
    "policy": lambda plain: validate(comparison_policy.Policy, plain, ""),
    "promotion": lambda plain: validate(promotion_policy.Policy, plain, ""),
    "experiment": lambda plain: validate(PaperExperiment, plain, ""),
    "papers": lambda plain: [validate(Paper, each, name) for name, each in plain.items()],
    "switch": lambda plain: validate(SwitchDescription, plain, ""),
    "lesson": lambda plain: validate(Lesson, plain, ""),
    "scenario": lambda plain: validate(Scenario, plain, ""),
    "script": lambda plain: validate(Script, plain, ""),
    "script-differences": lambda plain: validate(Differences, plain, ""),
}


def plain_json(data: Any) -> Any:
    """YAML as an editor checks it: keys are strings."""
    return json.loads(json.dumps(data))


@functools.cache
def validator(kind: str) -> Draft202012Validator:
    return Draft202012Validator(schemas.schema_of(kind))


def problems(kind: str, data: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in validator(kind).iter_errors(plain_json(data))]


def reads(kind: str, data: Any) -> bool:
    try:
        READERS[kind](data)
    except BadInput:
        return False
    return True


FILES = [name for name in tracked("*.yaml", "*.yml") if name not in OF_OTHERS and name.split("/")[0] not in OF_OTHERS]


@pytest.mark.parametrize("kind", schemas.KINDS)
def test_schemas_are_published_as_they_are(kind: str) -> None:
    """`python orchestrator.py schema --out docs/schemas` writes them."""
    schema = schemas.schema_of(kind)
    Draft202012Validator.check_schema(schema)
    assert (PUBLISHED / f"{kind}.json").read_text(encoding="utf-8") == schemas.to_json(kind)
    assert READERS.keys() == schemas.KINDS.keys()
    assert {path.stem for path in PUBLISHED.iterdir()} == set(schemas.KINDS)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_the_tree_names_its_schema_and_follows_it(name: str) -> None:
    path = REPOSITORY / name
    first, _, _ = path.read_text(encoding="utf-8").partition("\n")
    match = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    assert match is not None, f"the first line of {name} names no schema"
    schema = (path.parent / match[1]).resolve()
    assert schema.parent == PUBLISHED, match[1]
    assert problems(schema.stem, read_yaml(path)) == []


def test_all_kinds_have_files() -> None:
    lines = [(REPOSITORY / name).read_text(encoding="utf-8").partition("\n")[0] for name in FILES]
    kinds = {Path(line.partition("=")[2]).stem for line in lines}
    # The tree has no files of runs and of switches, but the documentation has (below).
    assert kinds == set(schemas.KINDS) - {"spec", "switch"}


# Kinds of the descriptions in the documentation, by a key that only they have.
_TELLING = {
    "interfaces": "switch",
    "ns3": "scenario",
    "events": "script",
    "rules": "policy",
    GRID: "sweep",
    "title": "scheme",
}
DESCRIBED = [block for page in PAGES for block in blocks(page) if block.language == "yaml"]


@pytest.mark.parametrize("block", DESCRIBED, ids=str)
def test_descriptions_in_the_documentation_follow_their_schema(block: Any) -> None:
    data = yaml.safe_load(block.text)
    kind = next((kind for key, kind in _TELLING.items() if key in data), "spec")
    assert problems(kind, data) == []


@pytest.mark.parametrize("name", known_experiments())
def test_what_a_run_says_of_itself_follows_the_schema(name: str) -> None:
    """The `spec.yaml` of results, with every setting of the papers' experiments."""
    for _, spec, _ in runs_of(load_experiment(name)):
        assert problems("spec", yaml.safe_load(spec.to_yaml())) == []


def test_the_command_prints_a_schema() -> None:
    for words, kind in (([], "spec"), (["topology"], "topology")):
        command = [sys.executable, str(REPOSITORY / "orchestrator.py"), "schema", *words]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert printed == schemas.to_json(kind)


def test_the_command_says_which_kinds_there_are() -> None:
    command = [sys.executable, str(REPOSITORY / "orchestrator.py"), "schema", "topolgy"]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "unknown kind of file `topolgy`" in refused.stderr
    assert "did you mean `topology`?" in refused.stderr


# Model and schema refuse each: a key that nothing has, a value of another type, or a key that is missing.
WRONG: Mapping[str, list[dict[str, Any]]] = {
    "spec": [
        {"lod": 0.5},
        {"load": "much"},
        {"load": 3},
        {"flows": 1.5},
        {"schemes": []},
        {"schemes": 5},
        {"rate": "10X"},
        {"rtt": 80},
        {"stop": 5},
        {"stop": "5 minutes"},
        {"transport": "dctpc"},
        {"transport": {"min_rot": "1ms"}},
        {"transport": {"mss": "1460bits"}},
        {"queue": "10us"},
        {"queues": {"scheduler": "dwr"}},
        {"pfc": {"per": "packet"}},
        {"pfc": {"xof": "20KB"}},
        {"pias": {"levels": 65}},
        {"topology": {"senders": 4}},
        {"topology": {"builder": "ring"}},
        {"topology": {"builder": "incast", "leaves": 4}},
        {"services": {"count": 4, "by": "host"}},
        {"services": [4]},
        {"workload": 7},
        {"workload": {"name": "mine"}},
        {"windows": "10ms"},
        {"probes": {"from": "h0"}},
        {"added_flows": {"from": "h0", "to": "h1"}},
        {"added_flows": [{"from": "h0", "to": "h1", "size": "1 page"}]},
        {"connections": "often"},
        {"mininet": {"switch": "ovs"}},
        {"mininet": True},
        {"arch": "psa"},
        {"name": "a/b"},
        {"baseline": 5},
    ],
    "sweep": [
        {"grid": {"lod": [0.5]}},
        {"grid": {"seeds": [1, 2]}},
        {"grid": {"schemes": ["tcn"]}},
        {"grids": {}},
        {"load": "much"},
    ],
    "topology": [
        {"builder": "ring"},
        {"builder": "incast", "senders": "many"},
        {"builder": "incast", "senders": 501},
        {"senders": 4},
        {"hosts": ["a"], "links": [["a", "b"]]},
        {"hosts": ["a", "b"], "links": [["a", "s", "b"]]},
        {"hosts": ["a", "b"], "links": [{"ends": ["a", "b"], "rate": "fast"}]},
        {"hosts": ["a", "b"], "links": [], "switches": ["s"]},
        {"hosts": ["a", "b"], "switches": ["s"]},
    ],
    "scheme": [
        {},
        {"title": 5},
        {"title": "T", "sumary": "s"},
        {"title": "T", "parameters": {"k": {"kind": "length", "doc": "d", "rule": 1}}},
        {"title": "T", "parameters": {"k": {"kind": "time", "doc": "d"}}},
        {"title": "T", "presets": {"p": 5}},
        {"title": "T", "entries": [{"table": "t"}]},
        {"title": "T", "entries": [{"table": "t", "action": "a", "match": {"k": {"mask": 1}}}]},
        {"title": "T", "causes": {"one": "x"}},
        {"title": "T", "needs": {"schedulers": ["edf"]}},
        {"title": "T", "signal": {"what": "w", "when": "n"}},
        {"title": "T", "forwarding": {"tabel": "x"}},
    ],
    "twin": [
        {},
        {"note": "n", "agreement": 2, "marks_within": 0},
        {"note": "n", "agreement": "5%", "marks_within": 0},
        {"note": "n", "agreement": 1, "marks_within": 0, "chip": "tofino3"},
        {"note": "n", "agreement": 1, "marks_within": 0, "supports": [{"when": "1"}]},
        {"note": "n", "agreement": 1, "marks_within": 0, "entires": []},
    ],
    "policy": [
        {"rule": []},
        {"rules": ["short.mean"]},
        {"rules": 5},
        {"at": "some points"},
        {"false_alarms": "often"},
        {"false_alarms": 2},
        {"missing": "ignore"},
    ],
    "promotion": [
        {"fct": {"loads": "high"}},
        {"fct": {"flows": 0}},
        {"fct": {"beter": ["short.p99"]}},
        {"fct": {"not_worse": {"overall.mean": "little"}}},
        {"equivalence": {"packets": 10}},
        {"tofino": {"stages": "few"}},
        {"fpga": {}},
    ],
    "experiment": [
        {},
        {"title": "T", "paper": "P", "schemes": ["tcn"]},
        {"title": "T", "paper": "P", "schemes": [], "claims": []},
        {"title": "T", "paper": "P", "schemes": ["tcn"], "claims": [], "remark": []},
        {"title": "T", "paper": "P", "schemes": ["tcn"], "claims": [], "grid": {"load": 0.5}},
        {"title": "T", "paper": "P", "schemes": ["tcn"], "claims": [], "quick": {"flow": 5}},
        {
            "title": "T",
            "paper": "P",
            "schemes": ["tcn"],
            "claims": [{"says": "s", "metric": "short.mean", "of": "tcn", "paper": "more"}],
        },
        {"title": "T", "paper": "P", "schemes": ["tcn"], "claims": [{"says": "s", "metric": "short.mean", "paper": 1}]},
    ],
    "papers": [
        {"p": {"title": "T"}},
        {"p": {"title": "T", "source": "S", "experiments": ["a"]}},
        {"p": {"title": "T", "source": "S", "experiments": {}, "year": 2020}},
        {"p": "T"},
    ],
    "switch": [
        {"interfaces": ["s1-eth1"]},
        {"interfaces": [{"port": 600, "name": "x"}]},
        {"interfaces": [{"port": 0, "nmae": "x"}]},
        {"cpu_port": "last"},
        {"cpu_port": 5, "traces": [{"port": 5}]},
        {"cpu_port": 5, "delay": 7},
    ],
    "script": [
        {},
        {"title": "x", "segmnts": 4},
        {"title": "x", "segments": "many"},
        {"title": "x", "segments": 4, "transports": "cubic"},
        {"title": "x", "segments": 4, "events": [{"drop": "both", "packet": 1}]},
        {"title": "x", "segments": 4, "events": [{"drop": "data", "packet": 0}]},
        {"title": "x", "segments": 4, "events": [{"drop": "data", "packet": "one"}]},
    ],
    "script-differences": [{"differences": [{"name": "x"}]}, {"difference": []}],
    "lesson": [
        {},
        {"title": "T", "text": "t", "steps": []},
        {"title": "T", "text": "t", "steps": [{"text": "s", "runs": []}]},
        {"title": "T", "text": "t", "steps": [{"text": "s", "run": {"id": "A!", "label": "a", "scheme": "tcn"}}]},
        {"title": "T", "text": "t", "settings": {"load": 0.5}, "steps": [{"text": "s"}]},
    ],
    "scenario": [
        {},
        {"title": "T", "ns3": [], "spec": {"schemes": "tcn"}},
        {"title": "T", "ns3": "--aqm=red"},
        {"title": "T", "ns3": "--aqm=red", "spec": []},
        {"title": "T", "ns3": "--aqm=red", "spec": {}, "variants": {"v": 5}},
    ],
}


@pytest.mark.parametrize(
    ("kind", "data"),
    [pytest.param(kind, data, id=f"{kind}-{data}"[:80]) for kind, all_ in WRONG.items() for data in all_],
)
def test_what_is_wrong_both_refuse(kind: str, data: dict[str, Any]) -> None:
    assert not reads(kind, data)
    assert problems(kind, data) != []


def test_every_schema_is_tried_with_what_is_wrong() -> None:
    assert WRONG.keys() == schemas.KINDS.keys()


# Settings in all forms in which they may be written.
RIGHT: Mapping[str, list[dict[str, Any]]] = {
    "spec": [
        {"schemes": "tcn"},
        {"schemes": ["tcn", "dctcp-red:k=100KB"], "baseline": "none"},
        {"rate": 10**9, "rtt": "80us", "stop": "1.5s"},
        {"rate": "2.5Gb/s", "queue": 600},
        {"queue": "900KB"},
        {"queue": "600 packets"},
        {"queues": "dwrr:count=4,buffer=96KB", "services": 4},
        {"queues": {"scheduler": "dwrr", "count": 4, "quantum": ["1mtu", 3000, "18KB", "1.5 mtu"]}},
        {"queues": {"scheduler": "dwrr", "count": 4, "quantum": "3000/3000/3000/3000", "shared": "1MB"}},
        {"topology": "incast:senders=4"},
        {"topology": {"builder": "leaf-spine", "leaves": 8}},
        {"topology": {"hosts": ["a", "b"], "links": [["a", "b"]]}},
        {"transport": "ecn-star"},
        {"transport": {"control": "dctcp", "receive_window": {"8KB": "20%", "64KB": 0.8}}},
        {"transport": {"control": "dcqcn", "dcqcn": {"window": "140KB"}}},
        {"transport": "dcqcn", "pfc": "on"},
        {"transport": "dcqcn", "pfc": True},
        {"transport": "dcqcn", "pfc": "xoff=20KB,xon=10KB"},
        {"transport": "dcqcn", "pfc": {"per": "port", "xoff": "20KB", "xon": "10KB"}},
        {"transport": "dcqcn", "pfc": {"per": "flow"}},
        {"pias": "published", "queues": "strict:count=8"},
        {"pias": {"thresholds": ["20KB", "1MB"]}, "queues": "strict:count=3"},
        {"pias": {"thresholds": "equal", "levels": 4}, "queues": "strict:count=4"},
        {"connections": "new"},
        {"connections": {"mode": "asked", "request": 400}},
        {"services": "4:weights=10/20/30/40"},
        {"services": {"count": 2, "weights": [25, 75], "workloads": ["web_search", "cache"]}},
        {"workload": {"name": "mine", "points": [[0, 0], [1000, 1]]}},
        {"probes": "h0:h7,every=1ms"},
        {"probes": [{"from": 0, "to": "h7", "size": 98}]},
        {"windows": "10ms..20ms", "trace_queue": "1ms"},
        {"windows": ["10ms..20ms", "20ms..30ms"], "trace_flows": "1ms"},
        {"until": "1s", "flows": 0, "added_flows": [{"from": "h0", "to": "h7", "size": "endless", "start": 0}]},
        {"queries": {"senders": 5, "at": ["10ms", "20ms"]}},
        {"queries": "5:at=10ms/20ms,largest=20KB"},
        {"mininet": {"dilation": 200, "switch": "bmv2"}},
        {"arch": "v1model"},
        {"arch": None, "name": None, "until": None},
    ],
    "sweep": [{"grid": {"load": [0.5, 0.8], "transport.min_rto": ["1ms"], "param.k": ["100KB"], "rate": "10G"}}],
    "policy": [{"rules": "short.mean > +5%"}, {"smallest_effect": "1%", "false_alarms": 0.05}],
    "promotion": [{"fct": {"loads": 0.5, "settings": {"topology": "leaf-spine"}, "not_worse": {"large.mean": 0.1}}}],
    "switch": [{"interfaces": ["0@s1-eth1", {"port": 1, "name": "x", "ttl_delays": [0, "2ms"]}], "queue": "900KB"}],
}


@pytest.mark.parametrize(
    ("kind", "data"),
    [pytest.param(kind, data, id=f"{kind}-{data}"[:80]) for kind, all_ in RIGHT.items() for data in all_],
)
def test_what_is_right_both_take(kind: str, data: dict[str, Any]) -> None:
    assert reads(kind, data)
    assert problems(kind, data) == []


def _mappings(data: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places of the mappings with keys that the schema knows."""
    if isinstance(data, dict):
        yield place
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from _mappings(value, (*place, key))


@pytest.mark.parametrize("name", ["ecn-sharp", "diffecn", "red", "bfc"])
def test_a_key_more_anywhere_in_a_scheme_is_judged_alike(name: str) -> None:
    """If keys are free, as for parameters, both accept it; otherwise both refuse it."""
    plain = dict(read_yaml(known_schemes()[name].with_suffix(".yaml")))
    for place in _mappings(plain):
        changed = copy.deepcopy(plain)
        inner = changed
        for key in place:
            inner = inner[key]
        inner["zzz"] = "1"
        assert reads("scheme", changed) == (problems("scheme", changed) == []), place


NUMBERS = st.one_of(
    st.integers(0, 10**6).map(str),
    st.decimals(0, 10**6, places=3).map(str),
    st.sampled_from(["1e3", "2.5E2", "0", "", "-1"]),
)
UNITS = st.sampled_from(
    [
        "",
        "G",
        "K",
        "k",
        "Gb/s",
        "Mbps",
        "bit/s",
        "ns",
        "us",
        "µs",
        "μs",
        "ms",
        "s",
        "m",
        "B",
        "kB",
        "KB",
        "KiB",
        "kiB",
        "GB",
        "%",
    ]
)


def refusal(parse: Callable[[str], float], text: str) -> str | None:
    try:
        parse(text)
    except BadInput as error:
        return str(error)
    return None


@given(number=NUMBERS, unit=UNITS, gap=st.sampled_from(["", " "]))
@pytest.mark.parametrize(
    ("parse", "pattern"),
    [
        (units.parse_rate, units.RATE_PATTERN),
        (units.parse_time, units.TIME_PATTERN),
        (units.parse_size, units.SIZE_PATTERN),
        (units.parse_part, units.PART_PATTERN),
    ],
)
def test_patterns_fit_what_is_read(
    parse: Callable[[str], float], pattern: str, number: str, unit: str, gap: str
) -> None:
    text = f"{number}{gap}{unit}"
    refused = refusal(parse, text)
    if refused is None:
        assert re.search(pattern, text)
    else:
        # A pattern cannot check fractions of a unit.
        assert "whole number" in refused or not re.search(pattern, text)
