# SPDX-License-Identifier: MIT OR Apache-2.0
"""CI: the workflow, `.ci/run`, and the targets that they run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from marklab.comparison.policy import Policy, read_policy
from marklab.model import validate
from marklab.paths import REPOSITORY
from marklab.sweeps.description import read_sweep

WORKFLOW = REPOSITORY / ".github" / "workflows" / "ci.yml"
JOB = yaml.safe_load(WORKFLOW.read_text())["jobs"]["ci"]
STEPS: list[dict[str, Any]] = JOB["steps"]
COMMANDS = [step["run"] for step in STEPS if "run" in step]


def tool(name: str) -> str:
    found = shutil.which(name)
    assert found, name
    return found


def step(name: str) -> dict[str, Any]:
    (found,) = [each for each in STEPS if name in (each.get("name"), each.get("uses", "").partition("@")[0])]
    return found


def dry_run(target: str) -> str:
    """The commands that `make` would run for a target."""
    done = subprocess.run([tool("make"), "-n", target], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_workflow_is_one_that_github_understands() -> None:
    plain = yaml.safe_load(WORKFLOW.read_text())
    # YAML 1.1 reads the key `on` as true.
    assert set(plain) == {"name", True, "permissions", "concurrency", "jobs"}
    assert set(plain[True]) == {"push", "pull_request"}
    for each in STEPS:
        assert len({"run", "uses"} & set(each)) == 1
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", each.get("uses", "a/b@v1"))
    uses = [each["uses"].partition("@")[0] for each in STEPS if "uses" in each]
    assert uses[0] == "actions/checkout"
    assert JOB["timeout-minutes"] <= 60
    if linter := shutil.which("actionlint"):
        subprocess.run([linter, str(WORKFLOW)], check=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_its_commands_are_shell(command: str) -> None:
    subprocess.run([tool("bash"), "-n", "-c", command], check=True)


def test_it_runs_what_everyone_runs() -> None:
    assert ".ci/run" in COMMANDS
    script = REPOSITORY / ".ci" / "run"
    assert os.access(script, os.X_OK)
    subprocess.run([tool("sh"), "-n", str(script)], check=True)
    goals = {word for line in re.findall(r"\bmake (.+)$", script.read_text(), re.MULTILINE) for word in line.split()}
    in_test = re.search(r"^test: (.+)$", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    assert in_test
    assert {*in_test[1].split(), "compare", "test-wheel"} <= goals
    planned = dry_run("compare")
    assert "orchestrator.py sweep results/reference/sweep.yaml" in planned
    assert "--policy results/reference/policy.yaml" in planned


def test_the_rust_of_the_workflow_is_what_the_engine_needs() -> None:
    needs = re.search(r'^rust-version = "(.*)"', (REPOSITORY / "engine" / "Cargo.toml").read_text(), re.MULTILINE)
    assert needs
    assert f"rustup toolchain install {needs[1]} " in step("Rust")["run"]


def test_the_comparison_becomes_the_summary_also_of_a_failed_job(tmp_path: Path) -> None:
    summary = step("Summary")
    assert summary["if"] == "always()"
    environment = os.environ | {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}

    def run() -> None:
        subprocess.run([tool("bash"), "-e", "-c", summary["run"]], cwd=tmp_path, env=environment, check=True)

    # If there is no comparison, because tests failed, there is no summary.
    run()
    assert not (tmp_path / "summary.md").exists()
    folder = tmp_path / "target" / "compare" / "compare-reference-reference-0123"
    folder.mkdir(parents=True)
    (folder / "comparison.md").write_text("### Marklab\n")
    run()
    assert (tmp_path / "summary.md").read_text() == "### Marklab\n"
    assert str(folder.relative_to(tmp_path)).startswith(re.findall(r"--out (\S+)", dry_run("compare"))[-1])


def test_results_are_kept_also_of_a_failed_job() -> None:
    kept = step("actions/upload-artifact")
    assert kept["if"] == "always()"
    out = re.findall(r"--out (\S+)", dry_run("compare"))
    assert all(path.startswith(f"{out[-1]}/") for path in kept["with"]["path"].split())


def test_a_renewed_reference_takes_the_place_of_the_old() -> None:
    lines = [
        line for line in dry_run("reference").splitlines() if "results/reference" in line or "target/reference" in line
    ]
    assert lines[0] == "rm -rf target/reference"
    assert lines[-1] == "cp -r target/reference/reference-*/* results/reference"


def blocks(page: str) -> list[dict[str, Any]]:
    """All YAML of a page."""
    text = (REPOSITORY / "docs" / page).read_text()
    return [yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]


def test_the_policies_of_the_docs_are_policies() -> None:
    """They also agree with the lab's own policy and with the defaults."""
    own = validate(Policy, next(each for each in blocks("ci.md") if "rules" in each), "ci.md")
    assert own == read_policy(REPOSITORY / "results" / "reference" / "policy.yaml")
    every_key = next(each for each in blocks("results.md") if "rules" in each)
    assert set(every_key) == set(Policy.model_fields)
    written = validate(Policy, every_key, "results.md")
    assert written.model_copy(update={"rules": ()}) == Policy()


def test_the_sweep_of_the_recipe_is_one(tmp_path: Path) -> None:
    described = next(each for each in blocks("ci.md") if "grid" in each)
    described["schemes"] = ["tcn", *described["schemes"][1:]]
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(described))
    sweep = read_sweep(tmp_path / "sweep.yaml", {}, [], [])
    specs = [sweep.spec_at(point)[0] for point in sweep.points()]
    assert [spec.load for spec in specs] == [0.5, 0.8]
    assert {spec.seeds for spec in specs} == {12}
