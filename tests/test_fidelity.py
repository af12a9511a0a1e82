# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of all claims, its sources, and runs of several experiments."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from conftest import Finished
from marklab.errors import BadInput, Interrupted, RunFailed
from marklab.papers import fidelity, found
from marklab.papers import papers as all_papers
from marklab.papers.claims import Agreement, Claim, Effort, Finding, known_experiments, load_experiment
from marklab.papers.found import FOUND, keep_record, read_record, recorded_findings
from marklab.papers.papers import Paper, experiments_called, papers
from marklab.papers.reproduction import Reproduction, reproduce_one
from marklab.papers.table import cells

Cli = Callable[..., Finished]

# The package has the function of this name.
command = import_module("marklab.cli.papers.reproduce")

ROOT = Path(__file__).parent.parent

# Every experiment of the five papers.
ALL = [
    "ecnsharp-threshold", "ecnsharp-testbed", "ecnsharp-rttvar", "ecnsharp-leafspine", "ecnsharp-micro",
    "ecnsharp-sched", "ecnsharp-sens", "ecnsharp-dcqcn", "ecnsharp-pias", "mqecn-latency", "mqecn-minimum",
    "mqecn-perport", "mqecn-testbed", "mqecn-leafspine", "mqecn-32q", "mqecn-ecnstar", "mqecn-params",
    "diffecn-converge", "diffecn-fair", "diffecn-testbed", "diffecn-period", "diffecn-leafspine", "diffecn-incast",
    "diffecn-queues", "diffecn-passlimit", "diffecn-dcqcn", "diffecn-pftcn", "diffecn-accuracy", "ear-locality",
    "ear-bottlenecks", "ecnplus-aqm", "ecnplus-threshold", "ecnplus-deploy", "ecnplus-testbed",
]  # fmt: skip


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the records that a test may change."""
    folder = tmp_path / "found"
    shutil.copytree(FOUND, folder)
    monkeypatch.setattr(found, "FOUND", folder)
    monkeypatch.setattr(fidelity, "FOUND", folder)
    return folder


def change(path: Path, how: Callable[[list[Any]], object]) -> None:
    """Change the claims of a record's first run."""
    plain = json.loads(path.read_text())
    how(plain["runs"][0]["claims"])
    path.write_text(json.dumps(plain))


def test_the_page_is_what_is_written_from_the_findings() -> None:
    assert fidelity.PAGE.read_text() == fidelity.fidelity_page(), "python orchestrator.py fidelity"


def test_every_experiment_of_the_papers_is_there_or_said_to_be_missing() -> None:
    listed = {name: lacks for paper in papers().values() for name, lacks in paper.experiments.items()}
    assert sorted(listed) == sorted([*ALL, "Table 1"])
    page = fidelity.fidelity_page()
    missing = page.partition("\n## Missing\n")[2]
    for name, lacks in listed.items():
        assert (f"\n## {name}\n" in page) == (name in known_experiments())
        assert (f"`{name}` | {lacks} |" in missing) == (lacks is not None)


def test_nothing_recorded_is_of_no_experiment() -> None:
    assert {path.stem for path in FOUND.glob("*.json")} == set(known_experiments())
    assert {path.stem for path in FOUND.glob("*.md")} <= {*known_experiments(), *papers(), "preface"}


def test_links_of_the_page_lead_to_its_sections() -> None:
    page = fidelity.fidelity_page()
    anchors = {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall("(?m)^## (.*)", page)
    }
    links = re.findall(r"\]\(#(.*?)\)", page)
    assert set(links) == anchors - {"overview"}


def test_a_recorded_claim_that_is_no_longer_made_is_named(kept: Path) -> None:
    change(kept / "mqecn-32q.json", lambda claims: claims[0].update(says="an older wording"))
    with pytest.raises(BadInput, match="mqecn-32q does not make: `an older wording`"):
        fidelity.fidelity_page()


def test_an_experiment_without_findings_is_named(kept: Path) -> None:
    (kept / "mqecn-32q.json").unlink()
    with pytest.raises(BadInput, match="nothing is recorded of mqecn-32q"):
        fidelity.fidelity_page()


@pytest.mark.parametrize("damage", ["{", '{"runs": [{"effort": "x", "claims": [{"says": "y", "lab": "z"}]}]}'])
def test_a_damaged_record_is_named(kept: Path, damage: str) -> None:
    (kept / "mqecn-32q.json").write_text(damage)
    with pytest.raises(BadInput, match=r"mqecn-32q\.json"):
        fidelity.fidelity_page()


def test_claims_that_were_not_run_are_missing(kept: Path) -> None:
    change(kept / "diffecn-fair.json", lambda claims: claims.pop())
    page = fidelity.fidelity_page()
    assert "| F1 beside F4: a third of the rest | 11,294 Mb/s | not run | | |" in page
    assert "| DiffECN | `diffecn-fair`: F1 beside F4: a third of the rest | not run |" in page
    assert "| `diffecn-fair` | 5 | 4 | 0 | 0 | 1 |" in page


def test_a_record_keeps_of_older_runs_what_the_new_one_did_not_find(kept: Path) -> None:
    change(kept / "diffecn-fair.json", lambda claims: claims.append({"says": "an older wording", "lab": 1}))
    paper = load_experiment("diffecn-fair").with_effort(Effort(seeds=7))
    first, *rest = paper.claims
    keep_record(Reproduction("diffecn-fair", paper, [Finding(first, 12000.0), *map(Finding, rest)], [], Path()))
    older, newer = read_record("diffecn-fair").runs
    assert [each.says for each in older.claims] == [claim.says for claim in rest]
    assert [(each.says, each.lab) for each in newer.claims] == [(first.says, 12000.0)]
    page = fidelity.fidelity_page()
    assert f"2. {newer.effort}" in page
    assert "7 seeds" in newer.effort
    assert f"| {first.says} [2] | 12,961 Mb/s | 12,000 Mb/s |" in page
    assert f"| {rest[0].says} [1] |" in page


def test_a_run_finds_what_is_recorded(kept: Path, tmp_path: Path, cli: Cli) -> None:
    """The recorded numbers are those of the present experiment."""
    paper = load_experiment("diffecn-fair")
    before = recorded_findings("diffecn-fair", paper, read_record("diffecn-fair"))
    (kept / "diffecn-fair.json").unlink()
    assert cli("reproduce", "diffecn-fair", "--record", "--out", str(tmp_path / "out")).code == 0
    after = recorded_findings("diffecn-fair", paper, read_record("diffecn-fair"))
    assert [cells(finding) for finding in after] == [cells(finding) for finding in before]


CHANGE = {"says": "so", "metric": "short.mean", "of": "tcn", "over": "red"}
NUMBER = {"says": "so", "metric": "short.mean", "of": "tcn"}


@pytest.mark.parametrize(
    ("claim", "lab", "agreement"),
    [
        (CHANGE | {"paper": -20}, -10.0, Agreement.AGREES),
        (CHANGE | {"paper": -20}, -9.9, Agreement.SAME_SIGN),
        (CHANGE | {"paper": -5}, 5.0, Agreement.AGREES),
        (CHANGE | {"paper": -20}, 0.1, Agreement.DISAGREES),
        (CHANGE | {"paper": 0}, 10.1, Agreement.DISAGREES),
        (CHANGE | {"paper": "lower"}, -0.1, Agreement.AGREES),
        (CHANGE | {"paper": "lower"}, 0.0, Agreement.DISAGREES),
        (CHANGE | {"paper": 5, "within": True}, -15.0, Agreement.AGREES),
        (CHANGE | {"paper": 5, "within": True}, -15.1, Agreement.DISAGREES),
        (NUMBER | {"paper": 200}, 219.0, Agreement.AGREES),
        (NUMBER | {"paper": 200}, 179.0, Agreement.DISAGREES),
        (NUMBER | {"paper": 0}, 0.5, Agreement.DISAGREES),
        (NUMBER | {"metric": "accuracy", "paper": 90}, 80.5, Agreement.AGREES),
        (NUMBER | {"paper": 200}, None, Agreement.NOT_RUN),
    ],
)
def test_what_agrees(claim: dict[str, Any], lab: float | None, agreement: Agreement) -> None:
    assert Finding(Claim.model_validate(claim), lab).agreement == agreement


def test_names_are_those_of_experiments_and_of_papers() -> None:
    assert experiments_called("diffecn-fair") == ["diffecn-fair"]
    assert experiments_called("mq-ecn") == [name for name in ALL if name.startswith("mqecn")]
    assert experiments_called("all") == [name for name in ALL if name in known_experiments()]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("ecnsharp", "did you mean `ecn-sharp`"),
        ("Table 1", "it needs round trips through parts of a testbed"),
    ],
)
def test_what_cannot_be_run_says_why(name: str, why: str) -> None:
    with pytest.raises(BadInput) as refused:
        experiments_called(name)
    assert why in f"{refused.value}: {refused.value.remedy}"


def test_a_paper_of_which_nothing_can_be_run_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Paper(title="Nothing", source="nowhere", experiments={"nothing-at-all": "a network"})
    monkeypatch.setattr(all_papers, "papers", lambda: {"nothing": nothing})
    with pytest.raises(BadInput, match="no experiment of `nothing` can be run yet"):
        experiments_called("nothing")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("    diffecn-fair:\n", ""), r"diffecn-fair\.yaml belongs to no paper"),
        (("diffecn-fair:\n", "diffecn-fair:\n    diffecn-fear:\n"), "there is no file of `diffecn-fear`"),
        (("title: EAR", "titel: EAR"), "unknown key `titel`"),
    ],
)
def test_a_wrong_list_of_papers_is_explained(
    change: tuple[str, str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "papers.yaml"
    path.write_text(all_papers.PAPERS.read_text().replace(*change))
    monkeypatch.setattr(all_papers, "PAPERS", path)
    with pytest.raises(BadInput, match=why):
        papers.__wrapped__()


def test_long_flows_stay_alone() -> None:
    effort = Effort(flows=100, seeds=2)
    assert load_experiment("diffecn-fair").with_effort(effort).setup["flows"] == 0
    assert load_experiment("diffecn-accuracy").with_effort(effort).setup["flows"] == 100


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A paper of three experiments, of which the second cannot be run."""
    names = ["diffecn-fair", "mqecn-latency", "diffecn-converge"]

    def run(name: str, *how: Any) -> Reproduction:
        if name == "mqecn-latency":
            raise RunFailed("the line broke", "mend it")
        return reproduce_one(name, *how)

    monkeypatch.setattr(command, "experiments_called", lambda _: names)
    monkeypatch.setattr(command, "reproduce_one", run)
    return names


def test_an_experiment_that_fails_does_not_stop_the_others(cli: Cli, three: list[str], tmp_path: Path) -> None:
    done = cli("reproduce", "all", "--quick", "--out", str(tmp_path))
    assert done.code == 2
    assert "1 of 3 experiments failed: mqecn-latency: the line broke" in done.err
    assert "mend it" in done.err
    overview = done.out.partition("experiment ")[2]
    counts = Counter({line.split()[0]: int(line.split()[1]) for line in overview.splitlines()[1:] if line.strip()})
    assert counts == {"diffecn-fair": 5, "diffecn-converge": 6, "all": 11}
    assert len(list(tmp_path.iterdir())) == 2


def test_many_experiments_are_one_json_object(cli: Cli, three: list[str], tmp_path: Path) -> None:
    done = cli("reproduce", "all", "--quick", "--json", "--out", str(tmp_path))
    assert done.code == 2
    plain = json.loads(done.out)
    assert [each["experiment"] for each in plain["experiments"]] == ["diffecn-fair", "diffecn-converge"]
    assert plain["failed"] == [{"experiment": "mqecn-latency", "error": "the line broke", "remedy": "mend it"}]


def test_an_interruption_ends_all(cli: Cli, three: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Reproduction:
        raise Interrupted(2)

    monkeypatch.setattr(command, "reproduce_one", interrupted)
    done = cli("reproduce", "all", "--quick", "--out", str(tmp_path))
    assert (done.code, done.out) == (130, "")


def test_points_are_of_one_experiment(cli: Cli) -> None:
    done = cli("reproduce", "mq-ecn", "--at", "load=0.9")
    assert (done.code, done.out) == (2, "")
    assert "--at narrows one experiment, and `mq-ecn` names 8" in done.err


def test_the_readme_has_what_was_found() -> None:
    """Each number of its excerpt begins a cell of that experiment's table, with lab and paper from the same claim."""
    text = (ROOT / "README.md").read_text().partition("\n## The papers\n")[2].partition("\n## ")[0]
    # The first row is the header.
    _, *rows = re.findall(r"(?m)^\| (?:`(\S+)`)? \|.*?\| ([^|]*) \| ([^|]*) \|$", text)
    found_of = {name: recorded_findings(name, load_experiment(name), read_record(name)) for name in known_experiments()}
    number = r"[+-]?\d{1,3}(?:,\d{3})*(?:\.\d+)?(?: ±[\d.]+)?"
    name, pairs = "", 0
    for named, paper, lab in rows:
        name = named or name
        stated = [cells(finding)[1:3] for finding in found_of[name]]
        for of_paper, of_lab in zip(re.findall(number, paper), re.findall(number, lab), strict=True):
            pairs += 1
            assert any(a.startswith(f"{of_paper} ") and b.startswith(f"{of_lab} ") for a, b in stated), (name, of_lab)
    assert pairs >= 15
    counts = Counter(finding.agreement for findings in found_of.values() for finding in findings)
    assert f"has {counts.total()} statements" in text
    assert f"{counts[Agreement.AGREES]} agree" in text
    assert f"{counts[Agreement.SAME_SIGN]} more have the same sign, {counts[Agreement.DISAGREES]} disagree" in text
