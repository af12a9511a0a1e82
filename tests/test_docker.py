# SPDX-License-Identifier: MIT OR Apache-2.0
"""The image has the tools that the lab calls, and the container has no more rights than it needs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from marklab.doctor import examination as doctor
from marklab.lab.commands import packages_of
from marklab.paths import REPOSITORY

DOCKERFILE = (REPOSITORY / "docker" / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())


def installed(stage: str) -> set[str]:
    """Debian's packages that a stage of the Dockerfile installs itself."""
    (text,) = re.findall(rf"^FROM \S+ AS {stage}\n(.*?)(?=^FROM |\Z)", DOCKERFILE, re.MULTILINE | re.DOTALL)
    listed = re.findall(r"--no-install-recommends([^&\n]*)", text.replace("\\\n", ""))
    return {word for words in listed for word in words.split()}


def test_the_image_has_the_packages_of_all_tools_that_doctor_looks_for() -> None:
    tools = {*doctor.NETWORK_TOOLS, *doctor.BPF_TOOLS, "iperf3", "tcpdump", "ping"}
    # Only the compiler of clang's package, which another stage extracts.
    assert installed("clang") == {"clang", "libbpf-dev"}
    assert set(packages_of(sorted(tools - {"clang"}))) | {"mininet"} <= installed("lab")
    assert "python3-venv" in installed("debian")


def test_the_image_has_no_compiler_but_that_of_bpf() -> None:
    built = installed("wheel")
    assert {"gcc", "cargo-web"} <= built
    assert not (built - {"make"}) & (installed("lab") | installed("debian"))


def test_the_container_is_not_privileged() -> None:
    for service in COMPOSE["services"].values():
        assert "privileged" not in service
        assert service["cap_add"] == ["NET_ADMIN", "SYS_NICE", "SYS_ADMIN"]
        assert service["volumes"] == ["./results:/lab/results", "/run/marklab:/run/marklab"]


def test_scripts_are_shell() -> None:
    for script in (REPOSITORY / "docker").glob("*.sh"):
        assert script.stat().st_mode & 0o100, script
        subprocess.run(["sh", "-n", str(script)], check=True)


@pytest.mark.needs("Docker Compose")
def test_compose_reads_the_file(tmp_path: Path) -> None:
    command = ["docker-compose", "--project-directory", str(REPOSITORY), "-f", str(REPOSITORY / "docker-compose.yml")]
    found = subprocess.run([*command, "config", "--services"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert "lab" in found.stdout.split()
