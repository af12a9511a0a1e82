# SPDX-License-Identifier: MIT OR Apache-2.0
"""Artifacts: packed from an experiment, unpacked elsewhere, repeated, and compared."""

from __future__ import annotations

import getpass
import io
import itertools
import json
import math
import os
import re
import shutil
import socket
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from conftest import Finished
from marklab.artifact import contents, equality, machine, packing, source
from marklab.artifact.contents import check, write_artifact
from marklab.artifact.equality import Difference, differences, leaves, table_differences
from marklab.artifact.stored import chosen, read_artifact
from marklab.cli.papers.artifact import artifact
from marklab.errors import BadInput, RunFailed
from marklab.model import read_yaml, validate
from marklab.papers import experiment as reproduce
from marklab.papers import papers as all_papers
from marklab.papers.claims import Claim
from marklab.papers.experiment import PaperExperiment, load_experiment
from marklab.papers.findings import Finding
from marklab.papers.papers import Paper
from marklab.papers.reproduction import Reproduction, reproduce_one
from marklab.papers.table import verdicts_table
from marklab.paths import REPOSITORY
from marklab.report.chart import Form
from marklab.results.collection import Collection, FailedCell
from marklab.spec.description import make_spec

Cli = Callable[..., Finished]

NAME = "marklab-tiny"

TOPOLOGY = """hosts: [a, b, c]
switches: [s]
links: [[a, s], [b, s], [c, s]]
receivers: [c]
"""

EXPERIMENT = """title: Two schemes on a few flows
paper: "Nobody: Nothing, section 1"
setup: {topology: own.yaml, workload: cache, flows: 300, seeds: 2, trace_queue: 1ms}
schemes: [tcn, "dctcp-red:tail"]
grid: {load: [0.6, 0.9]}
claims:
  - {says: TCN against Tail, where: "1", weight: figure, paper: -10,
     metric: short.mean, of: tcn, over: "dctcp-red:tail", at: {load: 0.9}}
  - {says: marks of TCN, where: "1", weight: remark, metric: marks, of: tcn, at: {load: 0.6}, paper: 1}
remarks: [There is no such paper.]
"""


@dataclass(frozen=True)
class Made:
    """An artifact, the results of its runs, and the folder where it has been repeated once."""

    done: Reproduction
    folder: Path
    archive: Path
    repeated: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The artifact of a small experiment, made in a folder whose name contains a user's name."""
    base = tmp_path_factory.mktemp("home-of-somebody")
    (base / "experiments").mkdir()
    (base / "experiments" / "tiny.yaml").write_text(EXPERIMENT, encoding="utf-8")
    (base / "experiments" / "own.yaml").write_text(TOPOLOGY, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reproduce, "EXPERIMENTS", base / "experiments")
        done = reproduce_one("tiny", load_experiment("tiny"), base / "results", "tiny", 1)
        written = write_artifact(base / "artifacts" / NAME, [done], Form.PDF, lambda _: None)
    return Made(done, written.folder, written.archive, base / "repeated")


@pytest.fixture
def known(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lab knows the experiment by its name."""
    monkeypatch.setattr(reproduce, "EXPERIMENTS", made.done.folder.parents[1] / "experiments")
    tiny = Paper(title="Nothing", source="nowhere", experiments={"tiny": None})
    monkeypatch.setattr(all_papers, "papers", lambda: {"nothing": tiny})


def unpack(archive: Path, into: Path) -> None:
    """With tar: Python's tarfile warns without a filter, and Debian 12's version has no filters."""
    into.mkdir(exist_ok=True)
    subprocess.run(["tar", "-xf", archive, "-C", into], check=True)


def unpacked(made: Made, into: Path) -> Path:
    """The artifact as another person unpacks it."""
    unpack(made.archive, into)
    return into / NAME


def repeat(cli: Cli, made: Made, folder: Path, *options: str) -> Finished:
    """The output of `repeat`. Cells that it ran for another test are not run again."""
    return cli("repeat", str(folder), "--out", str(made.repeated), *options)


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def change_cell(folder: Path, at: int, column: str, value: Any) -> None:
    """Put another value into the table of cells."""
    path = folder / "experiments" / "tiny" / "cells" / "cells.parquet"
    cells = pl.read_parquet(path)
    values = cells[column].to_list()
    values[at] = value(values[at])
    cells.with_columns(pl.Series(column, values, dtype=cells[column].dtype)).write_parquet(path)


def test_it_holds_what_a_committee_asks_for(made: Made) -> None:
    files = {path.relative_to(made.folder).as_posix() for path in made.folder.rglob("*") if path.is_file()}
    wanted = {"README.md", "repeat.sh", "claims.md", "claims.json", "versions.json", "SHA256SUMS"}
    wanted |= {
        f"experiments/tiny/{name}"
        for name in (
            *("sweep.yaml", "own.yaml", "specs/0.yaml", "specs/1.yaml", "seeds.csv", "plan.json", "versions.json"),
            *("cells/cells.parquet", "traces/000000-s-2.parquet", "reproduction.json", "report.html"),
            "figures/utilisation.pdf",
        )
    }
    wanted |= {path.name for path in REPOSITORY.glob("LICENSE-*")}
    assert wanted <= files
    sums = (made.folder / "SHA256SUMS").read_text().splitlines()
    assert {line.partition("  ")[2] for line in sums} == files - {"SHA256SUMS"}
    check_sums = ["sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS"]
    subprocess.run(check_sums, cwd=made.folder, check=True, capture_output=True)


def test_its_readme_says_what_is_inside_and_what_may_be_expected(made: Made) -> None:
    text = (made.folder / "README.md").read_text()
    assert "| `tiny`: Two schemes on a few flows | Nobody: Nothing, section 1 | 2 | 6 | 2 |" in text
    assert "- `tiny`: 300 flows, 2 seeds, `own.yaml`" in text
    assert "./repeat.sh --cells 10" in text
    for badge in ("Available", "Functional", "Reproduced"):
        assert badge in text
    # Each file that it names exists, except for the lab's source if files differ from the commit.
    for pattern in re.findall(r"^\| `([^`]*)`(?:, `([^`]*)`)? \|", text, re.MULTILINE):
        for name in filter(None, pattern):
            assert list(made.folder.glob(re.sub(r"\bID\b|\bN\b", "*", name))), name
    versions = json.loads((made.folder / "versions.json").read_text())
    assert versions.keys() == {"marklab", "engine", "commit", "python", "numpy", "polars", "scipy", "programs"}
    assert set(versions["programs"]) == {"tcn", "dctcp-red:tail"}


def test_its_claims_have_intervals_and_verdicts(made: Made) -> None:
    rows = json.loads((made.folder / "claims.json").read_text())
    assert [(row["experiment"], row["says"]) for row in rows] == [
        ("tiny", "TCN against Tail"),
        ("tiny", "marks of TCN"),
    ]
    first = rows[0]
    assert first["paper"] == -10
    assert first["ci95"][0] < first["lab"] < first["ci95"][1]
    assert first["verdict"] == made.done.findings[0].verdict()
    text = (made.folder / "claims.md").read_text()
    assert "| claim | paper | lab | 95 % interval | verdict |" in text
    assert "- There is no such paper." in text


def test_an_interval_has_the_claims_unit_and_a_verdict_its_words() -> None:
    claim = made_claim()
    (row,) = verdicts_table([Finding(claim, -12.0, (-15.04, -9.0), {}, (88.0, 100.0))])[2:]
    assert row == "| so | -10.0 % | -12.0 %<br>88 : 100 µs | -15.0 % to -9.0 % | agrees |"
    (row,) = verdicts_table([Finding(claim)])[2:]
    assert row == "| so | -10.0 % | not run | – | not run |"


def made_claim() -> Claim:
    plain = {
        "says": "so",
        "where": "1",
        "weight": "figure",
        "metric": "short.mean",
        "of": "tcn",
        "over": "red",
        "paper": -10,
    }
    return validate(Claim, plain, "")


def test_seeds_and_points_are_those_that_ran(made: Made) -> None:
    folder = made.folder / "experiments" / "tiny"
    seeds = pl.read_csv(folder / "seeds.csv")
    assert seeds.select("point", "settings", "seed").rows() == [
        (0, "load 0.6", 1), (0, "load 0.6", 2), (1, "load 0.9", 1), (1, "load 0.9", 2),
    ]  # fmt: skip
    # The digests of flows are those of the cells, and they all differ.
    cells = pl.read_parquet(folder / "cells" / "cells.parquet").sort("point", "seed", "scheme")
    flow_lists = [json.loads(text)["flow_list"] for text in cells["result"]]
    assert set(seeds["flows_digest"]) == set(flow_lists)
    assert seeds["flows_digest"].n_unique() == 4
    # A point can be run again from its complete description, in any folder.
    spec = make_spec(read_yaml(folder / "specs" / "1.yaml"))
    assert (spec.load, spec.seed_numbers) == (0.9, range(1, 3))
    assert {choice.label for choice in spec.choices} == {"tcn", "dctcp-red:tail"}


def test_it_names_no_machine_folder_or_person(made: Made) -> None:
    """Nor do its tables, which are compressed; the source of the lab comes from its repository."""
    names = {str(REPOSITORY), str(Path.home()), "home-of-somebody", str(made.folder.parent)}
    words = {name for name in (socket.gethostname(), getpass.getuser()) if len(name) > 4}
    for path in made.folder.rglob("*"):
        if not path.is_file() or path.name == source.FILE_NAME:
            continue
        held = path.read_bytes()
        if path.suffix == ".parquet":
            held = json.dumps(pl.read_parquet(path).to_dict(as_series=False)).encode()
        for name in names:
            assert name.encode() not in held, path
        for word in words:
            assert not re.search(rb"\b%s\b" % re.escape(word.encode()), held), path
    with tarfile.open(made.archive) as tar:
        for member in tar:
            assert (member.uid, member.gid, member.uname, member.gname, member.mtime) == (0, 0, "", "", 0)


def test_somebody_elses_repetition_ends_well(made: Made, tmp_path: Path) -> None:
    """With its script, in a folder whose name has a space, and the lab that MARKLAB names."""
    folder = unpacked(made, tmp_path / "a committee")
    done = subprocess.run(
        [folder / "repeat.sh", "--cells", "2", "--jobs", "1"],
        cwd=tmp_path,
        env=os.environ | {"MARKLAB": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, *_, last = done.stdout.splitlines()
    assert re.fullmatch(r"tiny +2 of 6 cells; [\d,]+ values, all the same", first)
    assert re.fullmatch(r"the same: all [\d,]+ values of 2 cells", last)
    assert json.loads((tmp_path / "repeated" / "repetition.json").read_text())["same"] is True


def test_without_a_lab_its_script_says_so(made: Made, tmp_path: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "MARKLAB": "no-such-lab"}
    done = subprocess.run([made.folder / "repeat.sh"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "there is no lab: `no-such-lab`" in done.stderr
    assert "try: MARKLAB=FOLDER" in done.stderr


def test_all_of_it_is_the_same_again(cli: Cli, made: Made) -> None:
    done = repeat(cli, made, made.folder)
    assert done.code == 0, done.out
    assert done.out.splitlines()[-1].startswith("the same: all ")
    assert json.loads(repeat(cli, made, made.folder, "--json").out) == json.loads(
        (made.repeated / "repetition.json").read_text()
    )


def another(value: float) -> float:
    """The next larger double."""
    return math.nextafter(value, math.inf)


def first_mark(text: str) -> str:
    plain = json.loads(text)
    plain["marks"]["total"] += 1
    return json.dumps(plain)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            ("short.mean", another),
            r"load 0.6, tcn, seed 1: short\.mean: stored [\d.]+, repeated [\d.]+ \([\d.]+e-16 of it\)",
        ),
        (("timeouts", lambda _: None), r"load 0.6, tcn, seed 1: timeouts: stored nothing, repeated \d"),
        (("result", first_mark), r"load 0.6, tcn, seed 1: result\.marks\.total: stored \d+, repeated \d+ "),
        (
            ("warnings", lambda _: '[{"kind": "said"}]'),
            r"load 0.6, tcn, seed 1: warnings\[0\]\.kind: stored said, repeated ",
        ),
    ],
)
def test_one_number_that_is_another_is_named(
    cli: Cli, made: Made, tmp_path: Path, change: tuple[str, Any], named: str
) -> None:
    folder = unpacked(made, tmp_path)
    change_cell(folder, 0, *change)
    done = repeat(cli, made, folder)
    assert done.code == 1
    assert re.search(named, done.out), done.out
    assert "! experiments/tiny/cells/cells.parquet has changed since it was packed" in done.out
    assert re.search(r"^not the same: \d+ differences?, with the same versions", done.out.splitlines()[-1])
    plain = json.loads((made.repeated / "repetition.json").read_text())
    assert plain["same"] is False
    assert plain["experiments"]["tiny"]["differences"][0]["where"] == "load 0.6, tcn, seed 1"


def test_times_are_not_compared(cli: Cli, made: Made, tmp_path: Path) -> None:
    folder = unpacked(made, tmp_path)
    change_cell(folder, 0, "wall_s", lambda value: value + 1)
    change_cell(folder, 0, "engine_cpu_s", lambda value: value + 1)
    packing.write_sums(folder)
    assert repeat(cli, made, folder).code == 0


def test_a_trace_that_is_another_is_named(cli: Cli, made: Made, tmp_path: Path) -> None:
    folder = unpacked(made, tmp_path)
    path = folder / "experiments" / "tiny" / "traces" / "000002-s-2.parquet"
    table = pl.read_parquet(path)
    (at,) = table.select(pl.col("sent_bytes").arg_max()).row(0)
    changed = table["sent_bytes"].to_list()
    changed[at] += 1
    table.with_columns(pl.Series("sent_bytes", changed, dtype=table["sent_bytes"].dtype)).write_parquet(path)
    done = repeat(cli, made, folder)
    assert done.code == 1
    row = pl.read_parquet(folder / "experiments" / "tiny" / "cells" / "cells.parquet").row(2, named=True)
    at_cell = f"load {row['load']:g}, {row['scheme']}, seed {row['seed']}"
    assert re.search(
        rf"{at_cell}: trace s-2, sent_bytes, row {at}: stored {changed[at]}, repeated {changed[at] - 1}", done.out
    )


def test_claims_that_the_cells_do_not_bear_out_are_named(cli: Cli, made: Made, tmp_path: Path) -> None:
    folder = unpacked(made, tmp_path)
    rows = json.loads((folder / "claims.json").read_text())
    rows[0]["verdict"] = "agrees perfectly"
    (folder / "claims.json").write_text(json.dumps(rows))
    packing.write_sums(folder)
    done = repeat(cli, made, folder)
    assert done.code == 1
    assert "claims.json: tiny, TCN against Tail: claim.verdict: stored agrees perfectly, repeated" in done.out


def test_a_file_that_was_changed_is_named_though_numbers_are_the_same(cli: Cli, made: Made, tmp_path: Path) -> None:
    folder = unpacked(made, tmp_path)
    (folder / "README.md").write_text("All well.\n")
    done = repeat(cli, made, folder)
    assert done.code == 1
    assert "! README.md has changed since it was packed" in done.out
    assert done.out.splitlines()[-1].startswith("changed since it was packed, though all ")


def test_other_versions_are_named_and_nothing_is_called_the_same_that_is_not(
    cli: Cli, made: Made, tmp_path: Path
) -> None:
    folder = unpacked(made, tmp_path)
    versions = json.loads((folder / "versions.json").read_text())
    rewrite(folder / "versions.json", f'"numpy": "{versions["numpy"]}"', '"numpy": "1.0"')
    rewrite(folder / "versions.json", versions["programs"]["tcn"], "0123")
    packing.write_sums(folder)
    done = repeat(cli, made, folder)
    assert done.code == 0
    assert f"numpy: 1.0, here {versions['numpy']}" in done.out
    assert f"program of tcn: 0123, here {versions['programs']['tcn']}" in done.out
    change_cell(folder, 0, "short.mean", lambda value: value / 1.25)
    done = repeat(cli, made, folder)
    assert done.code == 1
    last = done.out.splitlines()[-1]
    assert last.startswith("not the same: 1 difference, versions differ, too; the largest relative difference is 0.25 ")
    assert last.endswith("(load 0.6, tcn, seed 1: short.mean)")


def test_the_same_content_gives_the_same_bytes(made: Made, tmp_path: Path) -> None:
    """For any modification times, permissions and order of files in the folder."""
    again = io.BytesIO()
    for number, path in enumerate(sorted((made.folder).rglob("*"), reverse=True)):
        copy = tmp_path / "copy" / path.relative_to(made.folder)
        if path.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            copy.chmod(0o700 if path.name == "repeat.sh" else 0o600)
            os.utime(copy, (number, number))
    packing.pack(tmp_path / "copy", NAME, again)
    assert again.getvalue() == made.archive.read_bytes()
    (tmp_path / "copy" / "README.md").write_text("")
    other = io.BytesIO()
    packing.pack(tmp_path / "copy", NAME, other)
    assert other.getvalue() != again.getvalue()


@pytest.mark.usefixtures("known")
def test_it_is_made_again_with_the_same_bytes_of_the_same_results(
    cli: Cli, made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, out = made.done.folder.parent, tmp_path / "artifacts"

    def drawn(_collection: Collection, page: Path, _form: Form) -> None:
        """Leave out the report, which takes ten seconds; test_report.py tests that its bytes are the same."""
        shutil.copytree(made.folder / "experiments" / "tiny" / "figures", page.parent / "figures")
        shutil.copyfile(made.folder / "experiments" / "tiny" / page.name, page)

    monkeypatch.setattr(contents, "write_report", drawn)
    done = cli("artifact", "tiny", "--results", str(results), "--out", str(out), "--jobs", "1")
    assert done.code == 0, done.err
    assert re.match(r"tiny +6 cells, 6 of them from earlier runs; \d of 2 claims agree$", done.out.splitlines()[0])
    assert (out / f"{NAME}.tar.gz").read_bytes() == made.archive.read_bytes()
    assert {path.name for path in out.iterdir()} == {NAME, f"{NAME}.tar.gz"}


def test_few_cells_are_from_all_over_and_always_the_same(made: Made) -> None:
    stored = read_artifact(made.folder)
    sets = [chosen(stored, count).get("tiny", frozenset()) for count in range(8)]
    assert [len(each) for each in sets] == [0, 1, 2, 3, 4, 5, 6, 6]
    assert all(few <= more for few, more in itertools.pairwise(sets))
    assert chosen(stored, None)["tiny"] == sets[-1]
    assert sets[6] == frozenset(stored[0].cells)


@pytest.mark.parametrize(
    ("arguments", "says", "remedy"),
    [
        (["{base}"], "is no artifact", "unpacks to"),
        (["{archive}"], "is a file", "unpack it, `tar xzf"),
        (["{folder}", "--experiment", "tinny"], "unknown experiment of the artifact `tinny`", "did you mean `tiny`?"),
        (["{folder}", "--out", "{base}/file"], "cannot write", "--out"),
    ],
)
def test_what_cannot_be_repeated_is_one_message(
    cli: Cli, made: Made, tmp_path: Path, arguments: list[str], says: str, remedy: str
) -> None:
    (tmp_path / "file").write_text("")
    places = {"base": tmp_path, "archive": made.archive, "folder": made.folder}
    assert_refused(cli("repeat", *(each.format(**places) for each in arguments)), says, remedy)


@pytest.mark.parametrize(
    ("arguments", "says", "remedy"),
    [
        (["--results", "{base}/file/x"], "cannot write", "choose another folder"),
        (["--results", "{results}", "--out", "{base}/file"], "cannot write the result", "--out"),
        (["--results", "{results}", "--out", "{base}/there"], "is no artifact", "--out"),
    ],
)
@pytest.mark.usefixtures("known")
def test_a_place_that_cannot_be_written_is_one_message(
    cli: Cli, made: Made, tmp_path: Path, arguments: list[str], says: str, remedy: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "there" / NAME).mkdir(parents=True)
    (tmp_path / "there" / NAME / "precious").write_text("")
    places = {"base": tmp_path, "results": made.done.folder.parent}
    done = cli("artifact", "tiny", "--jobs", "1", *(each.format(**places) for each in arguments))
    assert_refused(done, says, remedy)
    assert (tmp_path / "there" / NAME / "precious").exists()


@pytest.mark.parametrize(
    ("name", "says", "remedy"),
    [
        ("ecnsharp-mirco", "unknown experiment or paper `ecnsharp-mirco`", "did you mean `ecnsharp-micro`?"),
    ],
)
def test_an_experiment_that_is_not_there_is_one_message(cli: Cli, name: str, says: str, remedy: str) -> None:
    assert_refused(cli("artifact", name), says, remedy)


def assert_refused(done: Finished, says: str, remedy: str) -> None:
    assert done.code == 2
    error, _, proposal = done.err[done.err.index("error: ") :].partition("\n  try: ")
    assert says in error
    assert remedy in proposal


@pytest.mark.parametrize(
    ("setup", "says"),
    [
        ({"mininet": {"dilation": 100}}, "runs on real hosts (Mininet, the lab's switch)"),
        ({"mininet": {"switch": "bmv2"}}, "runs on real hosts (Mininet, BMv2)"),
        ({"flow_list": "flows.csv"}, "takes its flows from a file"),
        ({"schemes": ["own/mine.p4"]}, "names a program by its path"),
    ],
)
def test_what_nobody_could_repeat_is_refused(tmp_path: Path, setup: dict[str, Any], says: str) -> None:
    (tmp_path / "flows.csv").write_text("start_us,src,dst,size_bytes\n0,h0,h7,1000\n")
    if "flow_list" in setup:
        setup = {"flow_list": str(tmp_path / "flows.csv")}
    schemes = setup.pop("schemes", ["tcn"]) if "schemes" in setup else ["tcn"]
    plain = {
        "title": "t",
        "paper": "p",
        "setup": {"flows": 10, "seeds": 1, **setup},
        "schemes": schemes,
        "claims": [{"says": "so", "where": "1", "weight": "remark", "metric": "marks", "of": schemes[0], "paper": 1}],
    }
    with pytest.raises(BadInput, match=re.escape(says)):
        check("tiny", validate(PaperExperiment, plain, ""))


@pytest.mark.parametrize("name", reproduce.known_experiments())
def test_every_experiment_of_the_lab_can_be_packed(name: str) -> None:
    check(name, load_experiment(name))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("experiments/tiny/cells/cells.parquet", b"PAR1"),
        ("experiments/tiny/traces/000000-s-2.parquet", b"PAR1"),
        ("experiments/tiny/plan.json", b"{"),
        ("experiments/tiny/sweep.yaml", b"title: t\n"),
        ("versions.json", b"[]"),
        ("claims.json", b"{}}"),
        ("SHA256SUMS", None),
    ],
)
def test_a_damaged_file_is_named(cli: Cli, made: Made, tmp_path: Path, file: str, content: bytes | None) -> None:
    folder = unpacked(made, tmp_path)
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    done = repeat(cli, made, folder)
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert Path(file).name in done.err
    assert "Traceback" not in done.err


def test_an_artifact_that_is_not_whole_is_refused(cli: Cli, made: Made, tmp_path: Path) -> None:
    folder = unpacked(made, tmp_path)
    path = folder / "experiments" / "tiny" / "cells" / "cells.parquet"
    pl.read_parquet(path).head(5).write_parquet(path)
    done = repeat(cli, made, folder)
    assert (done.code, "has 5 of 6 cells" in done.err) == (2, True)


def test_what_ends_early_leaves_what_was_there(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, or Ctrl-C, while the archive is written."""
    target = tmp_path / NAME
    shutil.copytree(made.folder, target)
    (tmp_path / f"{NAME}.tar.gz").write_bytes(b"older")
    # Left by a killed process; no process has this number.
    (tmp_path / f".{NAME}.tar.gz.4194305.tmp").write_bytes(b"half")
    monkeypatch.setattr(contents, "write_report", lambda *_: None)

    def full(_folder: Path, _name: str, file: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device", file.name)

    def ended(_folder: Path, _name: str, file: Any) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    for pack, raised in ((full, RunFailed), (ended, KeyboardInterrupt)):
        monkeypatch.setattr(packing, "pack", pack)
        with pytest.raises(raised):
            write_artifact(target, [made.done], Form.PDF, lambda _: None)
        assert {path.name for path in tmp_path.iterdir()} == {NAME, f"{NAME}.tar.gz"}
        assert (tmp_path / f"{NAME}.tar.gz").read_bytes() == b"older"
        assert (target / "experiments" / "tiny" / "report.html").exists()


@pytest.mark.usefixtures("known")
def test_failed_cells_make_no_artifact(cli: Cli, made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = SimpleNamespace(**{**vars(made.done), "failed": (FailedCell({"load": 0.6}, "tcn", 1, "it broke"),)})
    monkeypatch.setitem(artifact.__globals__, "reproduce_one", lambda *_: failed)
    done = cli("artifact", "tiny", "--out", str(tmp_path / "out"))
    assert done.code == 2
    assert "1 cells failed" in done.err
    assert not (tmp_path / "out").exists()


# Comparisons.


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        (1.0, 1.0, True),
        (1.0, 1.0 + 2**-52, False),
        (float("nan"), float("nan"), True),
        (float("nan"), 1.0, False),
        (None, None, True),
        (None, 0, False),
        (1, True, False),
        (0, False, False),
        ("a", "a", True),
        ("1", 1, False),
    ],
)
def test_values_are_the_same_to_the_last_bit(old: equality.Value, new: equality.Value, is_same: bool) -> None:
    assert (list(differences("here", {"x": old}, {"x": new})) == []) is is_same


def test_a_value_that_one_side_lacks_differs() -> None:
    found = list(differences("here", {"a": 1, "b": 2}, {"b": 2, "c": 3}))
    assert [(each.what, each.stored, each.repeated) for each in found] == [("a", 1, None), ("c", None, 3)]


@pytest.mark.parametrize(
    ("old", "new", "relative"),
    [
        (10, 11, 0.1),
        (-10, -11, 0.1),
        (0, 1, float("inf")),
        (1, 0, 1.0),
        (None, 1, None),
        ("a", "b", None),
        (True, 2, None),
    ],
)
def test_differences_are_relative_to_what_is_stored(
    old: equality.Value, new: equality.Value, relative: float | None
) -> None:
    assert Difference("", "", old, new).relative == (None if relative is None else pytest.approx(relative))


def test_nested_data_is_named_by_its_path() -> None:
    assert leaves({"a": {"b": [1, {"c": None}]}, "d": []}, "x") == {"x.a.b[0]": 1, "x.a.b[1].c": None}


def test_tables_differ_in_rows_columns_and_values(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1, 2], "b": [None, 0.5]}).write_parquet(tmp_path / "old")
    for name, table, whats in (
        ("same", {"a": [1, 2], "b": [None, 0.5]}, []),
        ("longer", {"a": [1, 2, 3], "b": [None, 0.5, 1]}, ["t, rows"]),
        ("other", {"a": [1, 2], "c": [None, 0.5]}, ["t, b", "t, c"]),
        ("changed", {"a": [1, 2], "b": [0.0, 0.5]}, ["t, b, row 0"]),
    ):
        pl.DataFrame(table).write_parquet(tmp_path / name)
        found = list(table_differences("here", "t", tmp_path / "old", tmp_path / name))
        assert [each.what for each in found] == whats, name
    (gone,) = table_differences("here", "t", tmp_path / "old", None)
    assert (gone.stored, gone.repeated) == ("a table", None)


# The lab's source, its licences, the machine.


def test_the_source_is_that_of_the_commit_and_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    (tree / "data").mkdir(parents=True)
    (tree / "run.sh").write_text("#!/bin/sh\n")
    (tree / "run.sh").chmod(0o755)
    (tree / "link").symlink_to("run.sh")
    who = {f"GIT_{role}_{what}": "x@y" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", *command], cwd=tree, check=True, env=os.environ | who)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tree, check=True, capture_output=True, text=True).stdout
    (tree / "run.sh").write_text("changed since\n")
    monkeypatch.setattr(source, "REPOSITORY", tree)
    monkeypatch.setattr(source, "NOTED_COMMIT", tree / "data" / "commit")
    monkeypatch.setattr(source, "commit", head.strip)
    assert source.missing_source() is None
    source.write_source(tmp_path / "one.tar.gz")
    os.utime(tree / "link", (1, 1), follow_symlinks=False)
    source.write_source(tmp_path / "two.tar.gz")
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()
    unpack(tmp_path / "one.tar.gz", tmp_path)
    unpacked_tree = tmp_path / "marklab"
    assert (unpacked_tree / "run.sh").read_text() == "#!/bin/sh\n"
    assert os.access(unpacked_tree / "run.sh", os.X_OK)
    assert (unpacked_tree / "link").readlink() == Path("run.sh")
    assert (unpacked_tree / "data" / "commit").read_text() == head


@pytest.mark.parametrize(
    ("commit", "in_tree", "why"),
    [
        ("0123-dirty", True, "files differ from the commit"),
        (None, True, "no clone of its repository"),
        ("0123", False, "the lab is installed"),
    ],
)
def test_source_that_is_not_what_ran_is_left_out(
    commit: str | None, in_tree: bool, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(source, "REPOSITORY", tmp_path)
    monkeypatch.setattr(source, "IN_TREE", in_tree)
    monkeypatch.setattr(source, "commit", lambda: commit)
    assert why in (source.missing_source() or "")


def test_an_installed_lab_has_its_licences_in_its_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Installed(type(tmp_path)):  # type: ignore[misc]
        def locate(self) -> Path:
            return tmp_path / self

    names = ["marklab-1.dist-info/licenses/LICENSE-MIT", "marklab-1.dist-info/METADATA", "marklab/plotly/LICENSE"]
    monkeypatch.setattr(contents, "IN_TREE", False)
    monkeypatch.setattr(contents.importlib.metadata, "files", lambda _: [Installed(name) for name in names])
    assert contents._licences() == [tmp_path / names[0]]


def test_a_machine_is_described_where_linux_says_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: A processor  \nprocessor\t: 1\nmodel name\t: B\n")
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "cpuinfo")
    assert machine.machine()["processor"].startswith("A processor (")
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "none")
    monkeypatch.setattr(machine.platform, "freedesktop_os_release", lambda: open(tmp_path / "none"))  # noqa: PTH123, SIM115
    assert machine.machine()["system"].startswith("Linux, ")


@pytest.mark.parametrize(("seconds", "text"), [(0.234, "0.23 s"), (89, "89 s"), (90, "1.5 min"), (5400, "1.5 h")])
def test_durations_have_two_digits(seconds: float, text: str) -> None:
    assert contents._duration(seconds) == text


# `make artifact`


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`make` as if started directly: below `make test`, it would print its folders."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }
    return subprocess.run(["make", "-n", *arguments], cwd=REPOSITORY, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["artifact", "ecnsharp-micro"], "orchestrator.py artifact 'ecnsharp-micro'"),
        (["artifact", "ID=ecnsharp-micro"], "orchestrator.py artifact 'ecnsharp-micro'"),
        (["artifact", "all", "QUICK=1", "OUT=a b"], "orchestrator.py artifact 'all' --quick --out 'a b'"),
    ],
)
def test_make_takes_an_id_either_way(arguments: list[str], command: str) -> None:
    done = make(*arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.replace("\n:", "").rstrip().splitlines()[-1].rstrip().endswith(command)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["artifact"], "`make artifact` needs the ID of an experiment; try: make artifact ecnsharp-micro"),
        (["artifact", "a", "b"], "`make artifact` takes one ID, not `a b`"),
        (["artifact", "a", "ID=b"], "`make artifact` takes one ID, not `a b`"),
        (["artifact", "bench"], "`bench` is a goal of this Makefile and no experiment"),
        (["artefact", "ecnsharp-micro"], "No rule to make target 'artefact'"),
        (["run", "ecnsharp-micro"], "No rule to make target 'ecnsharp-micro'"),
    ],
)
def test_make_explains_what_is_wrong(arguments: list[str], says: str) -> None:
    done = make(*arguments)
    assert done.returncode == 2
    assert says in done.stderr
