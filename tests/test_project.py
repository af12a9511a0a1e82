# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files about the project: its citation, the forms of issues, the development container."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from marklab import __version__
from marklab.catalog.scheme import known_schemes
from marklab.paths import REPOSITORY

GITHUB = REPOSITORY / ".github"
FORMS = [path for path in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) if path.stem != "config"]


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("citation-file-format", [REPOSITORY / "CITATION.cff"]),
        ("github-issue-forms", FORMS),
        ("github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
        ("github-workflows", sorted((GITHUB / "workflows").glob("*.yml"))),
        ("compose-spec", [REPOSITORY / "docker-compose.yml", REPOSITORY / "docker" / "real-time.yml"]),
    ],
)
def test_files_for_others_follow_their_schemas(schema: str, files: list[Path]) -> None:
    assert files
    command = [Path(sys.executable).with_name("check-jsonschema"), "--builtin-schema", f"vendor.{schema}"]
    checked = subprocess.run([*command, "--force-filetype", "yaml", *files], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def citation() -> dict[str, Any]:
    plain: dict[str, Any] = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    return plain


def test_the_citation_is_of_this_version_and_licence() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert citation()["version"] == __version__
    assert " OR ".join(citation()["license"]) == project["license"]
    assert [author["name"] for author in citation()["authors"]] == [author["name"] for author in project["authors"]]


def test_every_scheme_has_a_paper_to_cite() -> None:
    notes = " ".join(reference["notes"] for reference in citation()["references"])
    named = set(re.findall(r"[a-z][a-z0-9]*(?:-[a-z]+)*", notes))
    assert set(known_schemes()) - {"droptail"} <= named


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_issues_ask_for_what_made_a_result(form: Path) -> None:
    fields = {field["id"]: field for field in yaml.safe_load(form.read_text())["body"] if "id" in field}
    assert fields["spec"]["attributes"]["label"] == "spec.yaml"
    assert fields["versions"]["attributes"]["label"] == "versions.json"


def test_the_devcontainer_has_what_the_container_has() -> None:
    described = json.loads((REPOSITORY / ".devcontainer" / "devcontainer.json").read_text())
    lab = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())["services"]["lab"]
    assert described["capAdd"] == lab["cap_add"]
    assert described["securityOpt"] == lab["security_opt"]
    assert "privileged" not in described
    # The folder of locks outlives a container, because the kernel's congestion controls belong to the machine.
    assert [f"--volume={volume}" for volume in lab["volumes"] if volume.startswith("/")] == described["runArgs"]


def test_the_devcontainer_sets_the_lab_up() -> None:
    described = json.loads((REPOSITORY / ".devcontainer" / "devcontainer.json").read_text())
    script = REPOSITORY / described["postCreateCommand"]
    assert script.stat().st_mode & 0o100
    subprocess.run(["sh", "-n", str(script)], check=True)
    assert "\nmake dev\n" in script.read_text()

    workspace = tomllib.loads((REPOSITORY / "engine" / "Cargo.toml").read_text())["workspace"]
    rust = described["features"]["ghcr.io/devcontainers/features/rust:1"]
    assert rust["version"] == workspace["package"]["rust-version"]
    # Mininet is for the Python of the system.
    assert described["features"]["ghcr.io/devcontainers/features/python:1"]["version"] == "os-provided"
