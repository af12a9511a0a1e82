# SPDX-License-Identifier: MIT OR Apache-2.0
"""`promote`: gates in order, and a bundle only for schemes that pass them."""

from __future__ import annotations

import hashlib
import html
import json
import math
import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import Finished
from marklab.catalog import twin
from marklab.paths import REPOSITORY
from marklab.promotion.policy import Policy, read_policy
from marklab.promotion.vendor import read_resources
from marklab.results.folders import load_run
from marklab.results.metric import find_metric

Cli = Callable[..., Finished]

# Small runs, and no rule about flow completion times that a few seeds could break.
POLICY: dict[str, Any] = {
    "required": ["FCT", "equivalence", "Tofino"],
    "fct": {"loads": [0.9], "flows": 60, "seeds": 1, "better": [], "not_worse": {}},
    "equivalence": {"packets": 5000, "fct_within": {}},
}


@pytest.fixture
def policy(tmp_path: Path) -> Callable[..., str]:
    def write(required: Sequence[str] = (), **changes: dict[str, Any]) -> str:
        path = tmp_path / "policy.yaml"
        changed = {name: part | changes.get(name, {}) for name, part in POLICY.items() if isinstance(part, dict)}
        path.write_text(yaml.safe_dump({"required": required or POLICY["required"]} | changed))
        return str(path)

    return write


def test_what_a_policy_leaves_out_is_as_the_labs() -> None:
    assert read_policy(None) == Policy()


class Recorder:
    """A stand-in for the driver's `bfrt` that records the calls of a script."""

    def __init__(self, path: str, calls: list[tuple[str, dict[str, int]]]) -> None:
        self._path, self._calls = path, calls

    def __getattr__(self, name: str) -> Recorder:
        return Recorder(f"{self._path}.{name}", self._calls)

    def __call__(self, **values: int) -> None:
        self._calls.append((self._path, values))


def test_what_passes_becomes_a_bundle(cli: Cli, tmp_path: Path, policy: Callable[..., str]) -> None:
    out = tmp_path / "out"
    ended = cli("promote", "--scheme", "ecn-sharp", "--policy", policy(), "--out", str(out))
    assert ended.code == 0, ended.err
    folder = out / "ecn-sharp"
    assert f"promoted: {folder}" in ended.out
    manifest = json.loads((folder / "manifest.json").read_text())
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {"manifest.json"}
    assert set(manifest["sha256"]) == files
    for name, digest in manifest["sha256"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    # The program is complete: it compiles by itself, to the promoted program.
    checked = cli("check", "--arch", "tna", str(folder / "p4" / "tna" / "ecn-sharp.p4"), "--json")
    assert checked.code == 0
    gates = json.loads((folder / "evidence" / "evidence.json").read_text())["gates"]
    assert [gate["gate"] for gate in gates] == ["FCT", "equivalence", "Tofino", "p4c"]
    assert [gate["outcome"] for gate in gates] == ["passed", "passed", "passed", "skipped"]
    page = (folder / "evidence" / "evidence.html").read_text()
    assert "src=" not in page
    assert html.escape(manifest["differs"]) in page
    assert "`" not in page.partition("<details>")[0]
    assert all(f"<h2>{gate['gate']}" in page for gate in gates)


def test_the_driver_is_given_the_entries(cli: Cli, tmp_path: Path, policy: Callable[..., str]) -> None:
    assert cli("promote", "--scheme", "ecn-sharp", "--policy", policy(), "--out", str(tmp_path)).code == 0
    given = json.loads((tmp_path / "ecn-sharp" / "entries" / "entries.json").read_text())
    entries, mirrors = given["entries"], given["mirrors"]
    assert mirrors == {}
    calls: list[tuple[str, dict[str, int]]] = []
    script = (tmp_path / "ecn-sharp" / "entries" / "bfrt.py").read_text()
    exec(compile(script, "bfrt.py", "exec"), {"bfrt": Recorder("bfrt", calls)})  # noqa: S102 - it was made here
    *calls, last = calls
    assert last == ("bfrt.complete_operations", {})
    assert len(calls) == len(entries) > 1000
    for (path, values), entry in zip(calls, entries, strict=True):
        table, _, call = path.removeprefix("bfrt.ecn_sharp.").rpartition(".")
        assert (table, call.rpartition("_with_")[2]) == (entry["table"], entry["action"])
        assert {name: values[name] for name in entry["params"]} == entry["params"]
        if entry["match"] is not None:
            low, high = entry["match"]["elapsed"]["range"]
            assert (values["elapsed_start"], values["elapsed_end"]) == (low, high)


def test_the_driver_is_given_mirror_sessions(cli: Cli, tmp_path: Path, policy: Callable[..., str]) -> None:
    assert cli("promote", "--scheme", "codel", "--policy", policy(), "--out", str(tmp_path)).code == 0
    given = json.loads((tmp_path / "codel" / "entries" / "entries.json").read_text())
    assert given["mirrors"] == {"1": 68}
    calls: list[tuple[str, dict[str, int]]] = []
    script = (tmp_path / "codel" / "entries" / "bfrt.py").read_text()
    exec(compile(script, "bfrt.py", "exec"), {"bfrt": Recorder("bfrt", calls)})  # noqa: S102 - it was made here
    (session,) = (values for path, values in calls if path == "bfrt.mirror.cfg.add_with_normal")
    assert (session["sid"], session["ucast_egress_port"], session["session_enable"]) == (1, 68, True)
    assert len(calls) == len(given["entries"]) + 2


def test_the_driver_is_given_filters(cli: Cli, tmp_path: Path, policy: Callable[..., str]) -> None:
    rules = policy(fct={"settings_of": {"red": {"flows": 200}}})
    assert cli("promote", "--scheme", "red", "--policy", rules, "--out", str(tmp_path)).code == 0
    (given,) = json.loads((tmp_path / "red" / "entries" / "entries.json").read_text())["filters"]
    # 1 / 512 of the way while a packet of 1,538 bytes leaves at 10 Gb/s.
    assert given["gain_ns"] == given["decay_ns"] == pytest.approx(-1230.4 / math.log(1 - 2**-9))
    calls: list[tuple[str, dict[str, int]]] = []
    script = (tmp_path / "red" / "entries" / "bfrt.py").read_text()
    exec(compile(script, "bfrt.py", "exec"), {"bfrt": Recorder("bfrt", calls)})  # noqa: S102 - it was made here
    cells = [values for path, values in calls if path == "bfrt.red.pipe.Egress.marking.average.add"]
    assert [cell["LPF_INDEX"] for cell in cells] == list(range(16_384))
    assert {cell["LPF_SPEC_GAIN_TIME_CONSTANT_NS"] for cell in cells} == {round(given["gain_ns"])}


def test_a_broken_rule_is_named_with_its_number(cli: Cli, tmp_path: Path, policy: Callable[..., str]) -> None:
    rules = policy(fct={"better": ["overall.mean"], "seeds": 2})
    ended = cli("promote", "--scheme", "dctcp-red", "--policy", rules, "--out", str(tmp_path / "out"))
    assert ended.code == 1
    assert "not promoted: FCT failed: +0.00 %" in ended.out
    assert "overall.mean better than that of dctcp-red:tail" in " ".join(ended.out.split())
    assert not (tmp_path / "out").exists()


def test_a_change_inside_the_noise_is_not_shown(cli: Cli, tmp_path: Path, policy: Callable[..., str]) -> None:
    rules = policy(fct={"better": ["short.p99"], "seeds": 2})
    ended = cli("promote", "--scheme", "tcn", "--policy", rules, "--out", str(tmp_path / "out"))
    assert ended.code == 1
    assert re.search(r"not promoted: FCT not shown: \S+ % .*; .* seeds would", " ".join(ended.out.split()))
    assert not (tmp_path / "out").exists()


def test_one_seed_shows_nothing(cli: Cli, tmp_path: Path, policy: Callable[..., str]) -> None:
    ended = cli("promote", "--scheme", "tcn", "--policy", policy(fct={"better": ["short.p99"]}), "--json")
    assert ended.code == 1
    (gate,) = json.loads(ended.out)["gates"]
    assert gate["outcome"] == "not shown"
    assert gate["rules"][0]["found"].endswith("in one seed, whose noise is unknown: 2 at least")


def test_what_is_not_required_need_not_be_shown(cli: Cli, tmp_path: Path, policy: Callable[..., str]) -> None:
    rules = policy(required=["equivalence"], fct={"better": ["short.p99"]})
    ended = cli("promote", "--scheme", "tcn", "--policy", rules, "--out", str(tmp_path / "out"), "--json")
    assert ended.code == 0
    outcomes = [gate["outcome"] for gate in json.loads(ended.out)["gates"]]
    assert outcomes == ["not shown", "passed", "passed", "skipped"]


def test_a_skipped_gate_does_not_do_for_one_that_is_required(
    cli: Cli, tmp_path: Path, policy: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ended = cli("promote", "--scheme", "tcn", "--policy", policy(required=["p4c"]), "--out", str(tmp_path / "out"))
    assert ended.code == 1
    assert "not promoted: p4c skipped: no p4c with a Tofino back end on PATH" in " ".join(ended.out.split())
    assert not (tmp_path / "out").exists()


def test_a_twin_that_decides_otherwise_is_not_promoted(cli: Cli, tmp_path: Path, policy: Callable[..., str]) -> None:
    rules = policy(equivalence={"agreement": 1, "packets": 40_000})
    ended = cli("promote", "--scheme", "codel", "--policy", rules, "--out", str(tmp_path / "out"), "--json")
    assert ended.code == 1
    found = json.loads(ended.out)
    assert (found["promoted"], found["bundle"]) == (False, None)
    evidence = found["gates"][-1]["evidence"]
    assert evidence["agreement"] < evidence["bound"]
    # With the first difference, and the registers of both programs after it.
    difference = evidence["first_difference"]
    assert {*difference["decision"].values()} == {"passed", "marked"}
    assert "SwitchEgress.marking.mark_next" in difference["state"]["v1model"]
    assert "Egress.marking.episode" in difference["state"]["tna"]


def test_results_take_the_place_of_runs_unless_they_are_stale(
    cli: Cli, tmp_path: Path, policy: Callable[..., str]
) -> None:
    assert cli("-s", "tcn", "--flows", "60", "--seeds", "1", "--load", "0.9", "--out", str(tmp_path / "runs")).code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    words = ("promote", "--scheme", "tcn", "--policy", policy(), "--out", str(tmp_path / "out"), "--results")
    assert cli(*words, str(folder)).code == 0
    shutil.rmtree(tmp_path / "out")
    stale = folder.rename(folder.with_name("tcn-web_search-load90-01234567"))
    ended = cli(*words, str(stale))
    assert ended.code == 2
    assert "is stale" in ended.err
    assert "run --spec" in ended.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"loads": [0.8]}, "`load` 0.9, not 0.8"),
        ({"loads": [0.8, 0.9]}, "also asks for web_search at load 0.8"),
        ({"baseline": "droptail"}, "`baseline` dctcp-red:tail, not droptail"),
        ({"settings": {"rate": "40G"}}, "`rate` 10G, not 40G"),
        ({"flows": 61}, "`flows` 60, not 61"),
        ({"seeds": 2}, "`seeds` 1, not 2"),
    ],
)
def test_results_that_the_policy_does_not_ask_for_are_refused(
    cli: Cli, tmp_path: Path, policy: Callable[..., str], rules: dict[str, Any], said: str
) -> None:
    assert cli("-s", "tcn", "--flows", "60", "--seeds", "1", "--load", "0.9", "--out", str(tmp_path / "runs")).code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    words = ("promote", "--scheme", "tcn", "--policy", policy(fct=rules), "--results", str(folder))
    ended = cli(*words, "--out", str(tmp_path / "out"))
    assert ended.code == 2
    assert said in " ".join(ended.err.split())
    assert not (tmp_path / "out").exists()


def test_more_than_the_policy_asks_for_is_enough(cli: Cli, tmp_path: Path, policy: Callable[..., str]) -> None:
    words = ("-s", "tcn", "-s", "codel", "--flows", "61", "--seeds", "2", "--load", "0.9", "--trace-queue")
    assert cli(*words, "--out", str(tmp_path / "runs")).code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    rules = ("--policy", policy(), "--results", str(folder), "--out", str(tmp_path / "out"))
    for scheme in ("tcn", "codel"):
        ended = cli("promote", "--scheme", scheme, *rules, "--json")
        cells = json.loads(ended.out)["gates"][0]["evidence"]["cells"]
        mean_us = find_metric("overall.mean").of
        for role, label in (("scheme", scheme), ("baseline", "dctcp-red:tail")):
            seeds = load_run(folder).schemes[label].seeds
            assert [cell[role]["overall.mean"] for cell in cells] == [mean_us(seed) for seed in seeds]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["codel", "tcn"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--scheme", "per-pool"), "Tofino has no program of `per-pool`"),
        (("--scheme", "ecn-sharp", "--param", "control_law=sqrt"), "control_law=sqrt"),
        (("--scheme", "tcn", "--all"), "promote takes either one scheme or all"),
        ((), "promote takes either one scheme or all"),
    ],
)
def test_what_cannot_be_promoted_is_refused(cli: Cli, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    ended = cli("promote", *words, "--out", str(tmp_path / "out"))
    assert ended.code == 2
    assert said in ended.err
    assert "try:" in ended.err
    assert not (tmp_path / "out").exists()


def test_a_metric_that_is_none_is_refused(cli: Cli, policy: Callable[..., str]) -> None:
    ended = cli("promote", "--scheme", "tcn", "--policy", policy(fct={"better": ["short.p98"]}))
    assert ended.code == 2
    assert "short.p98" in ended.err
    assert "did you mean" in ended.err


def test_a_metric_without_a_direction_is_refused(cli: Cli, policy: Callable[..., str]) -> None:
    ended = cli("promote", "--scheme", "tcn", "--policy", policy(fct={"not_worse": {"marks": "5%"}}))
    assert ended.code == 2
    assert "neither more nor less of `marks` is better" in ended.err
    assert "try:" in ended.err


def test_a_twin_that_does_not_compile_is_refused(
    cli: Cli, tmp_path: Path, policy: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(REPOSITORY / "p4src", tmp_path / "p4src")
    program = tmp_path / "p4src" / "tna" / "tcn.p4"
    program.write_text(program.read_text().replace("t = t_ns;", "t = t_us;"))
    monkeypatch.setattr(twin, "TWINS", program.parent)
    ended = cli("promote", "--scheme", "tcn", "--policy", policy(), "--out", str(tmp_path / "out"))
    assert ended.code == 2
    assert "does not compile" in ended.err
    assert "t_us" in ended.err
    assert not (tmp_path / "out").exists()


def test_a_policy_that_cannot_be_run_is_refused_for_all_as_well(
    cli: Cli, tmp_path: Path, policy: Callable[..., str]
) -> None:
    ended = cli("promote", "--all", "--policy", policy(fct={"workloads": ["nope"]}))
    assert (ended.code, ended.out) == (2, "")
    assert "nope" in ended.err


def p4c_that(does: str, folder: Path) -> None:
    """A stand-in for p4c with a Tofino back end; a line of sh is its behaviour."""
    script = folder / "p4c"
    script.write_text(f"#!/bin/sh\n[ $1 = --target-help ] && echo tofino-tna && exit\n{does}\n")
    script.chmod(0o755)


def test_what_p4c_refuses_is_not_promoted(
    cli: Cli, tmp_path: Path, policy: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    p4c_that("echo 'tcn.p4(3): error: too much'; exit 1", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    ended = cli("promote", "--scheme", "tcn", "--policy", policy(), "--out", str(tmp_path / "out"))
    assert ended.code == 1
    assert "not promoted: p4c failed: tcn.p4(3): error: too much" in " ".join(ended.out.split())
    assert not (tmp_path / "out").exists()


def test_what_p4c_takes_is_set_beside_the_estimate(
    cli: Cli, tmp_path: Path, policy: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    unit: dict[str, Any] = {}
    stage = {"stage_number": 4, "logical_tables": {"ids": [{"id": 0, "table_name": "t"}]}}
    stage |= dict.fromkeys(("rams", "tcams", "map_rams", "gateways", "meter_alus"), unit)
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"resources": {"mau": {"mau_stages": [stage]}}}))
    # The folder is its last argument.
    p4c_that(f'for out; do :; done; mkdir -p "$out/pipe/logs"; cp {report} "$out/pipe/logs/resources.json"', tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    ended = cli("promote", "--scheme", "tcn", "--policy", policy(), "--out", str(tmp_path / "out"), "--json")
    assert ended.code == 0
    gate = json.loads(ended.out)["gates"][-1]
    assert gate["rules"][0]["found"] == "5 stages, estimated as 6"
    assert gate["evidence"]["p4c"].keys() == gate["evidence"]["estimate"].keys()


def test_the_compilers_report_is_read() -> None:
    """In p4c's format: logical tables with names, other units with a list of their users."""
    used = [{"usages": [{"used_by": "t"}]}, {"usages": []}]
    none: dict[str, Any] = {"size": 16}
    stages = [
        {
            "stage_number": number, "logical_tables": {"ids": tables, "size": 16}, "rams": {"nRows": 8, "srams": units},
            "tcams": {"tcams": units}, "map_rams": none, "gateways": none, "meter_alus": none,
        }
        for number, (tables, units) in enumerate(
            (([{"id": 0, "table_name": "t"}], used), ([{"id": 3, "table_name": "u"}], []), ([], []))
        )
    ]  # fmt: skip
    found = read_resources("p4c", {"resources": {"mau": {"mau_stages": stages}}})
    assert found.stages == 2
    assert found.used is not None
    assert (found.used["logical tables"], found.used["SRAM"], found.used["TCAM"]) == (2, 1, 1)
