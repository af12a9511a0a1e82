# SPDX-License-Identifier: MIT OR Apache-2.0
"""The pages of all claims, their records, and runs of several experiments."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from conftest import Finished
from marklab.errors import BadInput, Interrupted, RunFailed
from marklab.papers import papers as all_papers
from marklab.papers import records
from marklab.papers import variations as all_variations
from marklab.papers.claims import Claim, Weight
from marklab.papers.experiment import Column, Effort, known_experiments, load_experiment
from marklab.papers.findings import Finding
from marklab.papers.pages import files as all_pages
from marklab.papers.pages import readme as papers_readme
from marklab.papers.pages.chart import DIGEST, Multiple, chart_rows, digest_of
from marklab.papers.pages.hours import recorded_hours, scaled_hours
from marklab.papers.pages.readme import README, readme
from marklab.papers.pages.recorded import RecordedExperiment
from marklab.papers.papers import Paper, columns_of, experiments_called, papers
from marklab.papers.reading import Change
from marklab.papers.records import FOUND, keep_record, read_record, recorded_findings, staleness
from marklab.papers.reproduction import Reproduction, reproduce_one
from marklab.papers.variations import Effect, Tried, digests_of_variations, variations_of

Cli = Callable[..., Finished]

# The package has the function of this name.
command = import_module("marklab.cli.papers.reproduce")

ROOT = Path(__file__).parent.parent

FAIR = "diffecn-fair"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the records that a test may change."""
    folder = tmp_path / "found"
    shutil.copytree(FOUND, folder)
    monkeypatch.setattr(records, "FOUND", folder)
    return folder


def change(path: Path, how: Callable[[dict[str, Any]], object]) -> None:
    """Change the run as printed of a record."""
    plain = json.loads(path.read_text())
    how(plain["runs"]["printed"])
    path.write_text(json.dumps(plain))


def of_diffecn() -> str:
    return all_pages.pages()[all_pages.PAGES / "diffecn.md"]


def test_the_pages_are_what_is_written_from_the_findings() -> None:
    for path, text in all_pages.pages().items():
        assert path.read_text() == text, "python orchestrator.py fidelity"
    assert {path.stem for path in all_pages.PAGES.iterdir()} == set(papers())


def test_the_charts_show_what_was_found() -> None:
    for path, rows in all_pages.charts().items():
        with Image.open(path) as image:
            assert image.text[DIGEST] == digest_of(rows), "python orchestrator.py fidelity"


def test_a_chart_has_the_multiples_of_the_papers_numbers() -> None:
    """A change of -20 % leaves 80 %, so that -10 % is 1.125 of it; bounds and directions have no multiple."""
    plain = {"where": "1", "weight": "figure", "metric": "short.mean", "of": "tcn"}
    change, number, direction = (
        Claim.model_validate(plain | more)
        for more in (
            {"says": "a", "over": "red", "paper": -20},
            {"says": "b", "paper": 200},
            {"says": "c", "over": "red", "paper": "lower"},
        )
    )
    found = [Finding(change, -10.0, (-20.0, 0.0)), Finding(number, 100.0), Finding(direction, -3.0)]
    first, second = chart_rows({Column.PRINTED: found})
    assert first.lab[Column.PRINTED] == Multiple(pytest.approx(1.125), pytest.approx((1.0, 1.25)))
    assert first.agrees == pytest.approx((0.875, 1.125))
    assert second.lab[Column.PRINTED] == Multiple(0.5, None)


def test_every_experiment_is_on_its_papers_page_or_said_to_be_missing() -> None:
    written = all_pages.pages()
    missing = written[all_pages.OVERVIEW].partition("\n## Not run\n")[2]
    for name, paper in papers().items():
        page = written[all_pages.PAGES / f"{name}.md"]
        for each, lacks in paper.experiments.items():
            assert (f"\n## {each}\n" in page) == (each in known_experiments())
            assert (f"`{each}` | | {lacks} |" in missing) == (lacks is not None)


def test_nothing_recorded_is_of_no_experiment() -> None:
    assert {path.stem for path in FOUND.glob("*.json")} <= set(known_experiments())
    assert {path.stem for path in FOUND.glob("*.md")} <= {*known_experiments(), *papers(), "preface"}


def test_each_number_of_a_paper_is_counted_once() -> None:
    claims = Counter(finding.claim.says for finding in recorded_findings(FAIR, load_experiment(FAIR), None))
    assert set(claims.values()) == {1}
    overview = all_pages.pages()[all_pages.OVERVIEW]
    counted = sum(
        len(load_experiment(name).claims) + len(load_experiment(name).not_run) for name in known_experiments()
    )
    assert re.search(rf"\| \*\*all\*\* \| as printed \| all \| {counted} \|", overview)


def test_a_record_of_another_grid_is_refused(kept: Path) -> None:
    def elsewhere(run: dict[str, Any]) -> None:
        run["claims"][0]["point"] = {"lood": 0.5}

    change(kept / f"{FAIR}.json", elsewhere)
    with pytest.raises(
        BadInput, match=f"{FAIR}.json: `.*` was found at another grid's lood; .*{FAIR}.yaml, line [0-9]+"
    ):
        all_pages.pages()


@pytest.mark.parametrize("damage", ["{", '{"runs": {"printed": {"date": "today"}}}'])
def test_a_damaged_record_is_named(kept: Path, damage: str) -> None:
    (kept / f"{FAIR}.json").write_text(damage)
    with pytest.raises(BadInput, match=rf"{FAIR}\.json"):
        all_pages.pages()


def test_claims_that_were_not_run_are_missing(kept: Path) -> None:
    change(kept / f"{FAIR}.json", lambda run: run["claims"].pop())
    says = load_experiment(FAIR).claims[-1].says
    assert re.search(rf"\| {re.escape(says)} \| .* \| not run \| not run \|", of_diffecn())
    assert f"`{FAIR}`: {says} |" in all_pages.pages()[all_pages.OVERVIEW].partition("\n## Not run\n")[2]


def in_short(name: str) -> list[list[str]]:
    """The rows about headlines on the page of a paper: claim, paper, lab, verdict, as printed, and why not."""
    page = (
        all_pages.pages()[all_pages.PAGES / f"{name}.md"]
        .partition("\n## In short\n")[2]
        .partition("\n| experiment ")[0]
    )
    return [[cell.strip() for cell in row[1:-1].split("|")] for row in re.findall(r"(?m)^\| \[.*\|$", page)]


@pytest.mark.parametrize("name", papers())
def test_a_page_begins_with_the_headlines(name: str) -> None:
    """Each once, with its verdict; and those that do not agree with what is known of them."""
    rows = in_short(name)
    headlines = [
        f"[{each}](#{each}): {claim.says}"
        for each in papers()[name].runnable
        for claim in (*load_experiment(each).claims, *load_experiment(each).not_run)
        if claim.weight is Weight.HEADLINE
    ]
    assert Counter(row[0] for row in rows) == Counter(headlines)
    for _, _, lab, verdict, _, why in rows:
        assert (why == "") == (verdict == "**agrees**")
        if verdict == "**disagrees**":
            changes = r"one change was tried|\d+ changes were tried"
            tried = f"{changes}|nothing was varied yet|what was tried had too few runs to tell"
            assert re.match(rf"explained by \*|unexplained: ({tried})$", why)
        if verdict == "**undetermined**":
            assert why.endswith("seeds would decide it"), why
        assert (verdict == "**not run**") == (lab in ("", "not run"))


def disagreeing(path: Path) -> str:
    """Make the first claim of a record disagree in all its runs, and give what it says."""
    plain = json.loads(path.read_text())
    for run in plain["runs"].values():
        run["claims"][0] |= {"lab": 999.0, "ci95": [999.0, 999.0]}
    path.write_text(json.dumps(plain))
    return str(plain["runs"]["printed"]["claims"][0]["says"])


def test_a_claim_that_disagrees_and_was_not_varied_is_unexplained(kept: Path) -> None:
    assert "nothing was varied yet: F1 against F3" not in of_diffecn()
    says = disagreeing(kept / f"{FAIR}.json")
    assert f"- Unexplained, nothing was varied yet: {says}." in of_diffecn()


def finding(value: float, half: float, paper: float = 10.0) -> Finding:
    claim = Claim.model_validate(
        {"says": "a change", "where": "1", "weight": "figure", "metric": "overall.mean", "of": "tcn", "over": "codel"}
        | {"paper": paper}
    )
    return Finding(claim, value, (value - half, value + half), seeds=5)


@pytest.mark.parametrize(
    ("as_it_is", "changed", "effect"),
    [
        (finding(50, 5), finding(12, 5), Effect.EXPLAINS),
        (finding(50, 5), finding(35, 5), Effect.MOVES),
        (finding(50, 5), finding(40, 5), Effect.NOTHING),  # the intervals touch
        (finding(50, 5), finding(39.9, 5), Effect.MOVES),
        (finding(12, 5), finding(11, 5), Effect.NOTHING),  # it agreed before
        (finding(50, 45), finding(40, 5), Effect.UNCLEAR),  # not known to disagree
        (finding(50, 5), finding(40, 35), Effect.UNCLEAR),
        (finding(50, 45), finding(100, 4), Effect.MOVES),
        (finding(50, 5), Finding(finding(0, 0).claim, 12.0), Effect.UNCLEAR),  # a single seed
        (finding(50, 5), Finding(finding(0, 0).claim), Effect.UNKNOWN),
    ],
)
def test_a_change_explains_a_claim_or_moves_it_or_makes_no_difference(
    as_it_is: Finding, changed: Finding, effect: Effect
) -> None:
    assert Tried("another setting", changed, as_it_is).effect is effect


def test_variations_are_recorded_and_on_the_page(kept: Path, tmp_path: Path, cli: Cli) -> None:
    name = "diffecn-idle"
    path = kept / f"{name}.json"
    says = disagreeing(path)
    plain = json.loads(path.read_text())
    plain.pop("variations", None)
    path.write_text(json.dumps(plain))
    before = cli("vary", name, "--out", str(tmp_path))
    assert (before.code, "as it is" in before.out) == (0, True)
    assert "variations" not in json.loads(path.read_text())
    assert cli("vary", name, "--record", "--out", str(tmp_path)).code == 0
    varied = json.loads(path.read_text())["variations"]
    assert [each["says"] for each in varied["varied"]] == [change.says for change in variations_of(name)]
    assert set(json.loads(path.read_text())["runs"]) == set(plain["runs"])
    assert f"- **{says}**: " in of_diffecn()
    # Of another reading nothing is said.
    varied["settings"] = "0" * 16
    path.write_text(json.dumps(plain | {"variations": varied}))
    assert f"nothing was varied yet: {says}" in of_diffecn()


def row(section: str, first: str) -> list[str]:
    """A row of a table of the overview."""
    table = all_pages.pages()[all_pages.OVERVIEW].partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    found = next(line for line in table.splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_the_overview_says_how_far_variations_go(kept: Path) -> None:
    """An experiment whose variations are gone is missing in what was varied and explained."""
    section = "How far other settings would go"
    plain = json.loads((kept / "diffecn-period.json").read_text())
    before = row(section, "DiffECN")
    assert before[1] == row("Overview", "DiffECN | one reading | all")[-1]
    tried = list(records.recorded_variations("diffecn-period").values())
    assert tried
    del plain["variations"]
    (kept / "diffecn-period.json").write_text(json.dumps(plain))
    after = row(section, "DiffECN")
    assert after[:3] == before[:3]
    assert int(after[3]) == int(before[3]) - len(tried)
    explained = sum(any(each.effect is Effect.EXPLAINS for each in of_claim) for of_claim in tried)
    assert int(after[4]) == int(before[4]) - explained


def test_only_recorded_claims_that_disagree_are_varied(kept: Path, cli: Cli) -> None:
    (kept / f"{FAIR}.json").unlink()
    refused = cli("vary", FAIR)
    assert (refused.code, "no recorded claim that disagrees" in refused.err) == (2, True)


def recorded(folder: Path, tmp_path: Path, cli: Cli) -> dict[str, Any]:
    """A new record of an experiment."""
    assert cli("reproduce", FAIR, "--record", "--no-report", "--out", str(tmp_path / "out")).code == 0
    return dict(json.loads((folder / f"{FAIR}.json").read_text())["runs"]["printed"])


def test_a_run_finds_what_is_recorded(kept: Path, tmp_path: Path, cli: Cli) -> None:
    """The recorded numbers, plan and fingerprint are those of the present experiment, schemes and engine."""
    before = json.loads((kept / f"{FAIR}.json").read_text())["runs"]["printed"]
    (kept / f"{FAIR}.json").unlink()
    after = recorded(kept, tmp_path, cli)
    for part in ("claims", "plan", "fingerprint"):
        assert after[part] == before[part]


def test_a_record_has_the_warnings_of_its_run(kept: Path, tmp_path: Path, cli: Cli) -> None:
    """Of few flows, whose 99th percentile is the largest."""
    name, out = "ecnplus-queue", ("--no-report", "--out", str(tmp_path))
    assert cli("reproduce", name, "--record", "--flows", "3000", "--seeds", "2", *out).code == 0
    run = json.loads((kept / f"{name}.json").read_text())["runs"]["printed"]
    (empty,) = (text for text in run["warnings"] if "the network empties in this window" in text)
    assert empty.endswith("(1 of 1 results)")
    assert f"- as printed, a warning: {empty}" in all_pages.pages()[all_pages.PAGES / "ecn-plus.md"]


def test_a_record_is_of_one_column(kept: Path) -> None:
    paper = load_experiment(FAIR)
    read = paper.model_copy(update={"column": Column.READING})
    first, *rest = paper.claims
    findings = [Finding(first, 12000.0, (12000.0, 12000.0), seeds=1), *map(Finding, rest)]
    keep_record(Reproduction(FAIR, read, findings, [], Path()), Effort())
    runs = read_record(FAIR).runs
    assert [each.says for each in runs[Column.READING].claims] == [first.says]
    assert len(runs[Column.PRINTED].claims) == len(paper.claims)


def test_a_record_goes_stale_with_its_experiment_and_with_the_lab(kept: Path) -> None:
    paper = load_experiment(FAIR)
    run = read_record(FAIR).runs[Column.PRINTED]
    assert staleness(paper, run) is None
    assert staleness(paper, None) == "nothing is recorded"
    longer = paper.model_copy(update={"setup": paper.setup | {"until": "90ms"}})
    assert staleness(longer, run) == "the experiment has changed"
    label = next(iter(run.fingerprint))
    otherwise = run.model_copy(update={"fingerprint": {label: "0" * 16}})
    assert staleness(paper, otherwise) == f"{label}: other bytes than on {run.date}"


def test_stale_records_are_listed(kept: Path, cli: Cli) -> None:
    assert cli("reproduce", FAIR, "--stale").code == 0
    change(kept / f"{FAIR}.json", lambda run: run.update(plan="0"))
    done = cli("reproduce", FAIR, "--stale")
    assert done.code == 1
    assert re.search(rf"{FAIR} +as printed +the experiment has changed", done.out)


def test_only_what_is_out_of_date_is_recorded_anew(
    kept: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "experiments_called", lambda _: [FAIR, "mqecn-latency"])
    (kept / "mqecn-latency.json").unlink(missing_ok=True)
    done = cli("reproduce", "all", "--record", "--no-report", "--column", "printed", "--out", str(tmp_path))
    assert done.code == 0
    assert done.out.startswith("1 of 2 records are up to date; 1 have no record, and so no known time")
    assert [path.name.rpartition("-")[0] for path in tmp_path.iterdir() if path != kept] == ["mqecn-latency"]


@pytest.mark.parametrize("more", [["--quick"], ["--at", "load=0.9"], ["--set", "queue=300"]])
def test_a_record_has_all_of_an_experiment(cli: Cli, more: list[str]) -> None:
    done = cli("reproduce", "mqecn-testbed", "--record", *more)
    assert (done.code, done.out) == (2, "")
    assert "a record has all of an experiment" in done.err


def test_an_experiment_has_to_be_named(cli: Cli) -> None:
    done = cli("reproduce", "--quick")
    assert done.code == 2
    assert "`reproduce list` shows all" in done.err


def test_hours_of_the_full_size_are_recorded_or_follow_from_a_smaller_run() -> None:
    one = RecordedExperiment.read("diffecn-accuracy")
    run = one.runs[Column.READING].model_copy(update={"cpu_s": 36.0})
    whole, part = (run.model_copy(update={"flows": None, "part": part}) for part in (None, 0.25))
    none = replace(one, runs={})
    assert (recorded_hours(none, Column.READING), scaled_hours(none, Column.READING)) == (None, None)
    done = replace(one, runs={Column.READING: whole})
    assert recorded_hours(done, Column.READING) == pytest.approx(0.01)
    # As printed it has as many bytes.
    assert recorded_hours(done, Column.PRINTED) is None
    assert scaled_hours(done, Column.PRINTED) == pytest.approx(0.01)
    small = replace(one, runs={Column.READING: part})
    assert recorded_hours(small, Column.READING) is None
    assert scaled_hours(small, Column.READING) == pytest.approx(0.04)


def test_names_are_those_of_experiments_and_of_papers() -> None:
    assert experiments_called("diffecn-fair") == ["diffecn-fair"]
    assert sorted(experiments_called("mq-ecn")) == sorted(name for name in known_experiments() if "mqecn" in name)
    assert sorted(experiments_called("all")) == sorted(known_experiments())


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("ecnsharp", "did you mean `ecn-sharp`"),
        ("a testbed", "it needs a load balancer"),
    ],
)
def test_what_cannot_be_run_says_why(name: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = Paper(title="One", source="somewhere", experiments={"a testbed": "a load balancer"})
    listed = papers() | {"one": lacking}
    monkeypatch.setattr(all_papers, "papers", lambda: listed)
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
        (("    diffecn-fair:\n", ""), "unknown experiment of the paper `diffecn-fair`"),
        (
            ("  variations:\n    - {says: segmentation", "  variation:\n    - {says: segmentation"),
            "unknown key `variation`",
        ),
        (("says: a load of 200 %", "says: customers think for 1 s"), "two variations say `customers think for 1 s`"),
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


def test_a_variation_that_changes_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Change(says="as it is", set={"flows": 7})
    monkeypatch.setattr(all_variations, "variations_of", lambda _: [nothing])
    with pytest.raises(BadInput, match="the variation `as it is` of diffecn-idle changes nothing"):
        digests_of_variations("diffecn-idle")


def test_an_experiment_of_no_paper_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    more = known_experiments() | {"lonely": Path("experiments/lonely.yaml")}
    monkeypatch.setattr(all_papers, "known_experiments", lambda: more)
    with pytest.raises(BadInput, match=r"lonely\.yaml belongs to no paper"):
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
    counts = {tuple(re.split(r"  +", line)[:2]): int(line.split()[3]) for line in overview.splitlines()[1:] if line}
    claims = {name: len(load_experiment(name).claims) for name in ("diffecn-fair", "diffecn-converge")}
    columns = [(name, column) for name in claims for column in columns_of(name)]
    assert {at: counts[at] for at in counts if at[0] != "all"} == {(n, c.head): claims[n] for n, c in columns}
    assert len(list(tmp_path.iterdir())) == len(columns)


def test_many_experiments_are_one_json_object(cli: Cli, three: list[str], tmp_path: Path) -> None:
    done = cli("reproduce", "all", "--quick", "--json", "--out", str(tmp_path))
    assert done.code == 2
    plain = json.loads(done.out)
    assert list(dict.fromkeys(each["experiment"] for each in plain["experiments"])) == [FAIR, "diffecn-converge"]
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
    assert "--at narrows one experiment, and `mq-ecn` names" in done.err


def test_the_readme_has_what_was_found() -> None:
    """Each row of its table is a recorded claim, and the counts are those of the pages."""
    text = README.read_text()
    assert text == readme(), "python orchestrator.py fidelity"
    section = text.partition("\n## The papers\n")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| `(\S+)`: .* \| (.*?) \|$", section)
    assert len(rows) >= 15
    assert {"agrees", "disagrees"} <= {verdict for _, verdict in rows}
    overview = all_pages.pages()[all_pages.OVERVIEW]
    for column in Column:
        (counts,) = re.findall(
            rf"\| \*\*all\*\* \| {column.head} \| all \| \d+ \| (\d+) \| (\d+) \| (\d+) \|", overview
        )
        counted = "{} agree, {} disagree and {} are undetermined".format(*counts)
        assert f"{column.head}, {counted}" in " ".join(section.split())


def test_a_row_of_the_readme_is_renewed_from_the_record(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "mqecn-perport"
    copy = tmp_path / "README.md"
    copy.write_text(README.read_text())
    monkeypatch.setattr(papers_readme, "README", copy)
    (kept / f"{name}.json").unlink()
    (row,) = (line for line in readme().splitlines() if line.startswith(f"| `{name}`"))
    assert row.endswith("| not run | not run |")
    copy.write_text(copy.read_text().replace("goodput of service 1 |", "goodput of service 9 |"))
    with pytest.raises(BadInput, match=f"`{name}` has no claim `.*service 9`"):
        readme()
