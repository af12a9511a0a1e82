# SPDX-License-Identifier: MIT OR Apache-2.0
import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from conftest import Finished
from marklab.devices.hosts import CONTROLS
from marklab.report.terminal import print_run
from runs import small

Cli = Callable[..., Finished]

QUICK = ("--flows", "150", "--seeds", "2", "--load", "0.8")


def test_a_run_prints_a_table_and_leaves_a_result(cli: Cli, tmp_path: Path) -> None:
    done = cli("--scheme", "ecn-sharp", *QUICK, "--out", str(tmp_path))
    assert (done.code, done.err) == (0, "")
    for text in (
        "overall mean",
        "short ≤100 KB p99",
        "large >10 MB mean",
        "±",
        "/ baseline",
        "dctcp-red:tail",
        "utilisation",
    ):
        assert text in done.out
    (folder,) = tmp_path.iterdir()
    assert re.fullmatch(r"ecn-sharp-web_search-load80-[0-9a-f]{8}", folder.name)
    assert str(folder) in done.out


def test_json_is_one_object_with_the_promised_keys(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", "--scheme", "tcn", *QUICK, "--json", "--out", str(tmp_path), "--name", "mine")
    assert (done.code, done.err) == (0, "")
    plain = json.loads(done.out)
    for key in ("fct_us", "normalised", "slowdown"):
        assert set(plain[key]) == {"overall", "short", "medium", "large"}
        assert set(plain[key]["short"]) == {"n", "mean", "p50", "p99", "p999", "ci95"}
    for key in ("spec", "unfinished", "drops", "timeouts", "marks", "utilisation", "link_transmissions", "events",
                "engine_cpu_s", "versions", "warnings"):  # fmt: skip
        assert key in plain
    assert set(plain["drops"]) == {"host", "link", "queue", "switch"}
    assert set(plain["versions"]) >= {"marklab", "engine", "commit", "python", "numpy", "polars", "programs"}
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("mine-")
    assert json.loads((folder / "summary.json").read_text()) | {"folder": str(folder)} == plain


def test_a_run_can_be_repeated_from_its_result(cli: Cli, tmp_path: Path) -> None:
    cli("--scheme", "red:star", *QUICK, "--out", str(tmp_path / "one"))
    (one,) = (tmp_path / "one").iterdir()
    cli("--spec", str(one / "spec.yaml"), "--out", str(tmp_path / "two"), "--jobs", "1")
    (two,) = (tmp_path / "two").iterdir()
    assert one.name == two.name
    assert (one / "flows.parquet").read_bytes() == (two / "flows.parquet").read_bytes()


def test_a_flow_list_is_replayed(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("start_ns,src,dst,size_bytes\n0,h0,h7,1000\n1000,3,7,2000000\n")
    done = cli("--scheme", "tcn", "--flow-list", str(path), "--json", "--out", str(tmp_path / "out"))
    plain = json.loads(done.out)
    assert plain["fct_us"]["overall"]["n"] == 2
    assert plain["spec"]["seeds"] == 1
    done = cli("--scheme", "tcn", "--flow-list", str(path), "--load", "0.5")
    assert (done.code, "contradict" in done.err) == (2, True)


def test_seeds_that_are_the_same_run_are_doubted(cli: Cli, tmp_path: Path) -> None:
    path, spec = tmp_path / "mine.csv", tmp_path / "jitter.yaml"
    path.write_text("start_ns,src,dst,size_bytes\n0,h0,h7,1000\n1000,3,7,2000000\n")
    spec.write_text("start_jitter: 1us\n")
    for settings, doubted in (["--seeds", "2"], True), (["--seeds", "2", "--spec", str(spec)], False), ([], False):
        done = cli("-s", "tcn", "--flow-list", str(path), *settings, "--json", "--out", str(tmp_path / "out"))
        doubts = json.loads(done.out)["schemes"]["tcn"]["doubts"]
        assert ("same-seeds" in {each["kind"] for each in doubts}) == doubted


def test_parameters_reach_the_schemes_that_have_them(cli: Cli, tmp_path: Path) -> None:
    done = cli("-s", "tcn", "-s", "dctcp-red", *QUICK, "--param", "t=30us", "--json", "--out", str(tmp_path))
    assert set(json.loads(done.out)["schemes"]) == {"tcn:t=30us", "dctcp-red", "dctcp-red:tail"}


def test_set_reaches_every_setting(cli: Cli, tmp_path: Path) -> None:
    settings = ("--transport", "ecn-star", "--set", "transport.min_rto=5ms", "--set", "first_seed=7")
    done = cli("-s", "tcn", *QUICK, *settings, "--json", "--out", str(tmp_path))
    spec = json.loads(done.out)["spec"]
    assert (spec["transport"]["control"], spec["transport"]["min_rto"], spec["first_seed"]) == ("ecn-star", "5ms", 7)


def test_traces_and_captures_are_kept(cli: Cli, tmp_path: Path) -> None:
    cli("-s", "tcn", "--flows", "5", "--seeds", "2", "--trace-queue", "--pcap", "h7", "--out", str(tmp_path))
    (folder,) = tmp_path.iterdir()
    assert (folder / "h7-0.pcap").stat().st_size > 24
    assert len(list((folder / "traces").iterdir())) == 4


@pytest.mark.parametrize(
    ("arguments", "message", "remedy"),
    [
        (["--scheme", "ecn-shrp"], "unknown scheme `ecn-shrp`", "did you mean `ecn-sharp`"),
        (["-s", "tcn", "--param", "tt=3us"], "unknown parameter of tcn: `tt`", "did you mean `t`"),
        (["-s", "tcn", "-s", "red", "--param", "tt=3us"], "unknown parameter `tt`", "mark_above_max, max, min, "),
        (["-s", "tcn", "--load", "1.5"], "load: `1.5` should be less than or equal to 1", ""),
        (["-s", "tcn", "--load", "0"], "load: `0` should be greater than 0", "above 0 and at most 2"),
        (["-s", "tcn", "--arch", "tan"], "unknown architecture `tan`", "did you mean `tna`"),
        (["-s", "tcn", "--workload", "websearch"], "unknown workload `websearch`", "did you mean `web_search`"),
        (["-s", "tcn", "--topology", "insect"], "unknown topology `insect`", "did you mean `incast`"),
        (["-s", "tcn", "--baseline", "dctcp"], "unknown scheme `dctcp`", "did you mean `dctcp-red`"),
        (["-s", "tcn", "--flow-list", "/no/such.csv"], "cannot read the flow list", ""),
        (["-s", "tcn", "--spec", "/no/such.yaml"], "cannot read /no/such.yaml", ""),
        (["-s", "tcn", "--set", "queue"], "not a setting", "name=value"),
        (["--load", "0.5"], "no scheme was given", "ecn-sharp"),
        (["-s", "/no/such.p4"], "there is no P4 program", ""),
        (["-s", "tcn", "--out", "/proc/nothing"], "cannot write the result", "--out"),
        (["-s", "tcn", "--load", "nan"], "load: `nan` should be", "above 0 and at most 2"),
        (["-s", "tcn", "--load", "abc"], "load: `abc` is not a number", "above 0 and at most 2"),
        (["-s", "tcn", "--flows", "1e9"], "flows: `1e9` is not a whole number", "at most 10000000"),
        (["-s", "tcn", "--flows", str(10**12)], "flows: `1000000000000` should be", "at most 10000000"),
        (["-s", "tcn", "--rate", "0"], "rate: `0` should be", "at least 1M"),
        (["-s", "tcn", "--rtt", "210us..70us"], "from a smaller to a larger time", ""),
        (["-s", "tcn:high"], "unknown preset of tcn: `high`", "there is no preset of tcn to choose from"),
        (["-s", "tcn", "--services", "some"], "services.count: `some` is not a whole number", "at least 1"),
        (["-s", "tcn", "--services", "4:weights=10/20"], "services: 2 weights for 4 services", "one weight for each"),
        (["-s", "tcn", "--lod", "1"], "no such option: --lod", "did you mean --load?"),
        (["-s", "tcn", "--load"], "option '--load' requires an argument", "run --help"),
        (["-s", "tcn", "-j", "none"], "invalid value for '--jobs'", "run --help"),
        (["compare", "a"], "missing argument 'new'", "compare --help"),
        (["rnu"], "unknown command `rnu`", "did you mean `run`"),
        (["check", "nothing"], "unknown scheme", "known: "),
        (["reproduce", "ecnsharp"], "unknown experiment", "ecnsharp-testbed"),
        (["reproduce", "diffecn-fair", "--at", "load"], "--at load", "load=0.9"),
        (["reproduce", "diffecn-fair", "--at", "load=0.9"], "unknown setting of the grid `load`", "no setting"),
        (["compare", "/no/a", "/no/b"], "is not a result", ""),
    ],
)
def test_bad_input_is_one_message(cli: Cli, arguments: list[str], message: str, remedy: str) -> None:
    done = cli(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert message in done.err
    assert remedy in done.err
    assert len(done.err.strip().splitlines()) <= 2
    assert "Traceback" not in done.err


BAD_FILES = {
    "cdf.csv": "size_bytes,cdf\n0,0\n100,0.7\n200,0.6\n300,1\n",
    "short.csv": "size_bytes,cdf\n0,0\n100,0.7\n",
    "island.yaml": "hosts: [a, b]\nswitches: [s, t]\nlinks: [[a, s], [b, t]]\n",
    "flows.csv": "start_ns,src,dst,size_bytes\n0,h0,h99,1\n",
    "clones.p4": "",
}


@pytest.mark.parametrize(
    ("option", "file", "message"),
    [
        ("--workload", "cdf.csv", "decreases at point 3"),
        ("--workload", "short.csv", "ends at 0.7"),
        ("--topology", "island.yaml", "cannot be reached"),
        ("--flow-list", "flows.csv", "line 2: unknown host `h99`"),
    ],
)
def test_bad_files_are_one_message(cli: Cli, tmp_path: Path, option: str, file: str, message: str) -> None:
    (tmp_path / file).write_text(BAD_FILES[file])
    done = cli("--scheme", "tcn", option, str(tmp_path / file), "--out", str(tmp_path / "out"))
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert not list(tmp_path.glob("out/*"))


def test_a_program_that_a_run_cannot_set_up_is_refused(cli: Cli, tmp_path: Path) -> None:
    include = Path(__file__).parent.parent / "p4src" / "v1model" / "include"
    text = (include.parent / "droptail.p4").read_text().replace('"include/', f'"{include}/')
    program = tmp_path / "mirror.p4"
    program.write_text(text.replace(f'"{include}/switch.p4"', '"switch.p4"'))
    switch = (include / "switch.p4").read_text().replace('#include "', f'#include "{include}/')

    def ingress_begins_with(call: str) -> None:
        (tmp_path / "switch.p4").write_text(
            switch.replace("    apply {\n        if (!hdr", f"    apply {{\n        {call};\n        if (!hdr")
        )

    ingress_begins_with("truncate(100)")
    assert cli("check", str(program)).code == 0
    ingress_begins_with("clone(CloneType.I2E, 1)")
    for arguments in (("check", str(program)), ("--scheme", str(program))):
        done = cli(*arguments)
        assert done.code == 2
        assert "it clones packets, which needs a mirror session" in done.err
        assert "try: leave it out of the program" in done.err


def test_a_program_with_an_extern_of_its_own_is_checked_but_not_run(cli: Cli, tmp_path: Path) -> None:
    include = Path(__file__).parent.parent / "p4src" / "v1model" / "include"
    text = (include.parent / "droptail.p4").read_text().replace('"include/', f'"{include}/')
    text = text.replace("control Marking", "extern void tell_nobody<T>(in T x);\ncontrol Marking")
    program = tmp_path / "own.p4"
    program.write_text(text.replace("cause = 0;", "cause = 0; tell_nobody(cause);"))
    checked = cli("check", str(program))
    assert checked.code == 0
    assert "nothing here implements extern `tell_nobody`" in checked.out
    assert checked.out.splitlines()[-1] == "own.p4 compiles, but cannot run: see above"
    for arguments in (("--scheme", str(program)), ("stf", str(program), "--packet", "00")):
        run = cli(*arguments)
        assert run.code == 2
        assert re.search("nothing here implements.* `tell_nobody`", run.err)


def test_check_shows_what_the_lab_sees(cli: Cli) -> None:
    done = cli("check", "ecn-sharp")
    assert done.code == 0
    assert "SwitchEgress.marking.params [no key] set_params(" in done.out
    assert "runs as  machine code" in done.out


def test_schemes_lists_all_with_values_for_a_setup(cli: Cli) -> None:
    done = cli("schemes")
    assert done.code == 0
    for text in (
        "ecn-sharp",
        "dctcp-red",
        "codel",
        "167 packets = 250.5 KB",
        "lambda_ * rtt_p90_us",
        "Queues: as in the run",
    ):
        assert text in done.out
    assert "668 packets" in cli("schemes", "dctcp-red", "--rate", "40G", "--rtt", "70us..210us,p90=200.4us").out


def test_compare_exits_by_the_rules(cli: Cli, tmp_path: Path) -> None:
    for name, scheme in (("a", "tcn"), ("b", "tcn:t=5us")):
        # With such a low threshold the line is idle, for any seed.
        settings = (*QUICK, "--load", "0.5", "--seeds", "4")
        assert cli("-s", scheme, *settings, "--out", str(tmp_path), "--name", name).code == 0
    a, b = (str(next(tmp_path.glob(f"{name}-*"))) for name in "ab")
    kept = tmp_path / "kept"
    assert cli("compare", a, a, "--fail-on", "short.p99 > +0%", "--out", str(kept)).code == 0
    (folder,) = kept.iterdir()
    assert folder.name == f"compare-{Path(a).name}-{Path(a).name}"
    assert {path.name for path in folder.iterdir()} == {"comparison.md", "junit.xml", "comparison.json"}
    done = cli(
        "compare",
        a,
        b,
        "--fail-on",
        "overall.mean > +5%",
        "--markdown",
        str(tmp_path / "m.md"),
        "--junit",
        str(tmp_path / "j.xml"),
    )
    assert done.code == 1
    assert "FAILED: overall.mean > +5%, tcn → tcn:t=5us" in done.out
    assert "| short.mean |" in (tmp_path / "m.md").read_text()
    assert "<failure" in (tmp_path / "j.xml").read_text()
    assert json.loads(cli("compare", a, b, "--json", "--out", str(kept)).out)["differences"]
    assert cli("compare", a, b, "--junit", "/no/such/dir.xml").code == 2


def test_sweeps_are_compared_by_a_policy(cli: Cli, tmp_path: Path) -> None:
    grid = ("--grid", "load=0.3,0.5", "--flows", "60", "--seeds", "3", "--set", "baseline=none", "--no-flows")
    out = str(tmp_path)
    assert cli("sweep", "-s", "tcn", *grid, "--name", "a", "--no-report", "--out", out).code == 0
    (a,) = tmp_path.glob("a-*")
    policy = tmp_path / "policy.yaml"
    policy.write_text("rules: [short.mean > +5%]\n")
    by_policy = ("--policy", str(policy), "--out", out)
    assert cli("compare", str(a), str(a), *by_policy).code == 0

    fewer = ("--grid", "load=0.3", *grid[2:])
    assert cli("sweep", "-s", "tcn", *fewer, "--name", "b", "--no-report", "--out", out).code == 0
    (b,) = tmp_path.glob("b-*")
    lost = cli("compare", str(a), str(b), *by_policy, "--all")
    assert lost.code == 1
    assert "FAILED: no cell is lost, NEW: there is no point load 0.5" in lost.out

    # A cell that was written after joining is damaged: it is named, and the others are compared.
    (a / "cells" / "000003.parquet").write_bytes(b"PAR1 and no more")
    damaged = cli("compare", str(a), str(a), *by_policy)
    assert damaged.code == 2
    assert "000003.parquet" in damaged.out
    assert "short.mean" in damaged.out

    old = json.loads((b / "versions.json").read_text()) | {"engine": "0.0.1"}
    (b / "versions.json").write_text(json.dumps(old))
    cells = b / "cells" / "cells.parquet"
    pl.read_parquet(cells).with_columns(engine=pl.lit("0.0.1")).write_parquet(cells)
    mixed = cli("compare", str(a), str(b), *by_policy)
    assert (mixed.code, mixed.out) == (2, "")
    assert "NEW by engine 0.0.1" in mixed.err
    assert "--force" in mixed.err
    assert cli("compare", str(a), str(b), *by_policy, "--force").code == 2  # a's file is still damaged
    assert cli("compare", str(a), str(b), "--policy", "/no/policy.yaml").code == 2


def test_reproduce_lists_what_there_is(cli: Cli) -> None:
    done = cli("reproduce", "list")
    assert done.code == 0
    assert {line.split()[0] for line in done.out.splitlines()} >= {"ecnsharp-threshold", "ecnsharp-testbed"}


@pytest.mark.parametrize("width", [10, 40, 60, 80, 200])
def test_the_table_fits_the_terminal(width: int) -> None:
    console = Console(width=width, record=True, file=None, force_terminal=False, highlight=False, quiet=False)
    with console.capture() as captured:
        print_run(small()[2], console)
    lines = captured.get().splitlines()
    # Below 40 columns lines wrap at the edge, and nothing is cut off.
    assert max(map(len, lines)) <= max(width, 40)
    for text in ("overall mean", "short ≤100 KB p99", "unfinished flows", "persistent queue"):
        assert any(text in line for line in lines), text
    # Every number is whole: nothing was cut off.
    assert not any("…" in line for line in lines)


def test_runs_of_a_crosscheck_are_of_one_seed(cli: Cli) -> None:
    ended = cli("crosscheck", "--scheme", "tcn", "--seeds", "2", "--runs", "2")
    assert ended.code == 2
    assert "runs of the same flows are those of one seed" in ended.err


def test_help_names_every_transport(cli: Cli) -> None:
    said = re.sub(r"[\s│]+", " ", cli("run", "--help").out)
    for name in CONTROLS:
        assert re.search(rf" {name}[,;.]", said), name


def test_pictures_show_how_the_network_stands(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "pictures"
    load = ("--scheme", "tcn", "--flows", "1000", "--load", "0.8", "--baseline", "none", "--no-report")
    assert cli(*load, "--out", str(tmp_path / "out"), "--pictures", str(path)).code == 0
    first, *pictures = [json.loads(line) for line in path.read_text().splitlines()]
    assert (first["scheme"], first["seed"], len(first["lines"])) == ("tcn", 1, 16)
    assert [node["tier"] for node in first["nodes"]] == [0] * 8 + [1]
    times = [picture["now_ns"] for picture in pictures]
    assert len(times) > 1
    assert times == sorted(set(times))
    for name in ("packets", "wire_bytes", "marked", "lost"):
        assert {len(picture[name]) for picture in pictures} == {16}
    sums = [sum(picture["wire_bytes"]) for picture in pictures]
    assert sums == sorted(sums)


def test_pictures_are_refused_where_there_are_none(cli: Cli, tmp_path: Path) -> None:
    path = str(tmp_path / "pictures")
    assert "one thread" in cli("--scheme", "tcn", "--pictures", path, "--threads", "2").err
    assert "simulated cells" in cli("--scheme", "tcn", "--pictures", path, "--fabric", "mininet").err
    assert "cannot write pictures" in cli("--scheme", "tcn", "--pictures", str(tmp_path / "no" / "pictures")).err
