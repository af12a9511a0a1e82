# SPDX-License-Identifier: MIT OR Apache-2.0
"""The instructions of the documentation work, word for word."""

import fnmatch
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Finished
from marklab.devices.hosts import CONTROLS, Transport
from marklab.execution.flows import flow_table
from marklab.paths import PROGRAMS, REPOSITORY, TWINS
from marklab.spec.description import FABRICS
from pages import first_table
from runs import small

DOCS = Path(__file__).parent.parent / "docs"

Cli = Callable[..., Finished]


def block(page: str, section: str, language: str) -> str:
    """The first block of a language in a section."""
    text = (DOCS / page).read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found, (page, section, language)
    return found[1]


def test_a_scheme_of_ones_own(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "my schemes"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "mine.p4").write_text(block("schemes.md", "A scheme of your own", "p4"))
    run = ("--scheme", "mine.p4", "--load", "0.8", "--flows", "150", "--seeds", "1", "--json", "--out", "out")
    assert cli("check", "mine.p4").code == 0
    plain = json.loads(cli(*run, "--param", "limit_us=50").out)
    assert plain["marks"]["by_cause"] == {"cause 1": plain["marks"]["total"]}
    undescribed = json.loads(cli(*run).out)

    (folder / "mine.yaml").write_text(block("schemes.md", "A scheme of your own", "yaml"))
    described = json.loads(cli(*run).out)
    assert described["parameters"] == {"t": "100 us = 125 KB = 83.33 packets"}
    assert described["marks"]["by_cause"] == {"sojourn time": described["marks"]["total"]}
    # 100 us is also the program's default.
    assert described["fct_us"] == undescribed["fct_us"]
    assert json.loads(cli(*run, "--param", "t=50us").out)["fct_us"] == plain["fct_us"]
    # A preset gives another run, and so does another rule.
    before = len(list((folder / "out").iterdir()))
    (folder / "mine.yaml").write_text((folder / "mine.yaml").read_text().replace("rtt_p90_us / 2", "rtt_p90_us / 4"))
    assert json.loads(cli(*run).out)["fct_us"] == plain["fct_us"]
    assert len(list((folder / "out").iterdir())) == before + 1


def test_the_first_table_of_the_readme(cli: Cli, tmp_path: Path) -> None:
    """Figures and folder, whose name has a digest of everything that the description says."""
    shown = cli("--scheme", "diffecn", "--load", "0.8", "--out", str(tmp_path)).out
    assert shown.replace(f"{tmp_path}/", "results/").split() == first_table().split()


def test_the_columns_of_flows() -> None:
    experiment, observations, _ = small()
    section = (DOCS / "results.md").read_text().partition("\n## Flows\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == flow_table(experiment, observations).columns


def test_the_keys_for_scripts(cli: Cli, tmp_path: Path) -> None:
    """Every key of the object is in the table, and vice versa."""
    section = (DOCS / "results.md").read_text().partition("\n## For scripts\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    documented = {name.partition(".")[0] for cell in cells for name in re.findall(r"`(.*?)`", cell)}
    several = ("-s", "tcn", "-s", "codel", "--flows", "100", "--seeds", "2", "--json", "--out", str(tmp_path))
    plain = json.loads(cli(*several).out)
    assert set(plain) == documented
    assert (plain["scheme"], plain["baseline"]) == ("tcn", "dctcp-red:tail")
    assert list(plain["schemes"]) == ["tcn", "codel", "dctcp-red:tail"]
    for key in ("fct_us", "normalised", "slowdown", "drops", "marks", "events"):
        assert plain[key] == plain["schemes"]["tcn"][key]
    assert plain["schemes"]["dctcp-red:tail"]["normalised"] is None
    alone = json.loads(cli("-s", "tcn", "--baseline", "none", *several[4:]).out)
    assert (alone["baseline"], alone["normalised"], alone["fct_us"]) == (None, None, plain["fct_us"])


def _rows(page: str, first: str) -> list[list[str]]:
    """Cells of the table of a page whose header begins with this text."""
    lines = (DOCS / page).read_text().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"| {first}"))
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[start + 2 :])
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in rows]


def test_the_table_of_schemes_is_complete() -> None:
    found = {name: row for row in _rows("schemes.md", "Scheme |") for name in re.findall("`([^`]+)`", row[0])}
    assert sorted(found) == sorted(path.stem for path in PROGRAMS.glob("*.yaml"))
    assert all(all(row) for row in found.values())
    for name, row in found.items():
        assert row[4].startswith("1") == (TWINS / f"{name}.p4").exists(), name


def test_the_readme_names_all_schemes() -> None:
    paragraph = (
        (DOCS.parent / "README.md")
        .read_text()
        .partition("[Schemes](docs/schemes.md#the-schemes): ")[2]
        .partition(". [")[0]
    )
    assert sorted(re.findall("`([^`]+)`", paragraph)) == sorted(path.stem for path in PROGRAMS.glob("*.yaml"))


def test_the_table_of_transports_is_complete() -> None:
    """Every transport, and whether its packets can be marked."""
    rows = _rows("transports.md", "name |")
    assert sorted(row[0].strip("`") for row in rows) == sorted(CONTROLS)
    for name, _, capable in rows:
        assert Transport(control=name.strip("`")).uses_ecn == (capable != "nothing"), name


def test_concepts_name_all_fabrics() -> None:
    row = next(row for row in _rows("concepts.md", "word |") if row[0] == "**fabric**")
    assert {"sim", *FABRICS} <= set(re.findall(r"`([^`]+)`", row[1]))


def test_the_table_of_hosts_is_complete() -> None:
    """Every transport, and only experiments that the lab has."""
    rows = _rows("transports.md", "Hosts ")
    assert all(all(row) for row in rows)
    named = {word for row in rows for word in re.findall(r"[`\s]([a-z-]+)`", row[0])}
    assert named >= set(CONTROLS)
    patterns = re.findall(r"`([\w*-]+)`", " ".join(row[3] for row in rows))
    ids = [path.stem for path in (REPOSITORY / "experiments").glob("*.yaml")]
    assert patterns
    assert all(fnmatch.filter(ids, pattern) for pattern in patterns)
