# SPDX-License-Identifier: MIT OR Apache-2.0
"""`doctor`: its examination of the machine, its conclusions, and its output."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from marklab.doctor import examination as doctor
from marklab.doctor.examination import Resource, examine, lacking
from test_cli import Cli


def test_what_is_missing_is_told_with_what_is_used_instead_and_how_to_get_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = [
        Resource("engine", True, "1", ("sim", "mininet")),
        Resource("netem", False, "does not work", (), "delay lines", "another kernel"),
        Resource("Mininet", False, "not there", ("mininet",), "", "apt-get install mininet", ("mininet",)),
        Resource("tshark", False, "not there", (), "", "apt-get install tshark", ("tshark",)),
    ]
    monkeypatch.setattr(importlib.import_module("marklab.cli.doctor"), "examine", lambda: findings)
    ready = cli("doctor")
    assert (ready.code, ready.err) == (0, "")
    lines = [line.rstrip() for line in ready.out.splitlines()]
    assert [line.split()[:2] for line in lines[1:4]] == [["✓", "engine"], ["-", "netem"], ["✗", "Mininet"]]
    assert lines[2].endswith("delay lines")
    assert "To have netem: another kernel" in lines
    assert lines[-4:] == ["sim      ready", "mininet  lacks Mininet", "bmv2     ready", "docker   ready"]
    assert cli("doctor", "--for", "mininet").code == 1
    plain = json.loads(cli("doctor", "--json", "--for", "mininet").out)
    assert plain["lacks"] == {"sim": [], "mininet": ["Mininet"], "bmv2": [], "docker": []}
    assert plain["findings"][1] == {
        "name": "netem",
        "found": False,
        "detail": "does not work",
        "needed_for": [],
        "instead": "delay lines",
        "get": "another kernel",
        "packages": [],
    }


def test_packages_are_printed_for_a_shell(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    for_mininet = cli("doctor", "--for", "mininet", "--packages")
    assert (for_mininet.code, for_mininet.err) == (0, "")
    assert {"ethtool", "iproute2"} <= set(for_mininet.out.split())
    assert "chromium" not in for_mininet.out.split()
    assert {"ethtool", "chromium", "tshark"} <= set(cli("doctor", "--packages").out.split())


def test_an_unknown_purpose_is_refused(cli: Cli) -> None:
    refused = cli("doctor", "--for", "mininett")
    assert refused.code == 2
    assert "did you mean `mininet`?" in refused.err


def test_this_machine_is_ready_for_sim_and_every_lack_has_a_remedy(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    findings = examine()
    assert lacking(findings, "sim") == []
    names = {finding.name for finding in findings}
    assert {"privileges", "namespaces", "veth", "netem", "tbf", "DCTCP module", "Mininet", "BMv2", "Docker"} <= names
    assert all(finding.found or finding.get for finding in findings)
    shown = cli("doctor")
    assert shown.code == 0
    assert max(len(line) for line in shown.out.splitlines()) <= 80


def test_a_machine_without_any_tool_still_gets_an_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(doctor, "SYSTEM_PYTHON", str(tmp_path / "python3"))
    by_name = {finding.name: finding for finding in examine()}
    for name in ("network tools", "namespaces", "Mininet", "BMv2", "Docker", "Docker Compose", "iperf3"):
        assert not by_name[name].found, name
    assert by_name["network tools"].get == "apt-get install ethtool iproute2 iputils-ping procps util-linux"
    assert by_name["Mininet"].needed_for == ("mininet",)


def test_bpf_is_needed_only_where_the_kernel_has_no_dctcp(monkeypatch: pytest.MonkeyPatch) -> None:
    for has_module, needed in ((True, ()), (False, ("mininet",))):
        monkeypatch.setattr(doctor, "in_kernel", lambda _, has_module=has_module: has_module)
        by_name = {finding.name: finding for finding in examine()}
        assert {by_name[name].needed_for for name in ("Linux 6.10", "type information", "BPF tools")} == {needed}
        assert by_name["DCTCP module"].found == has_module
        assert by_name["DCTCP module"].needed_for == ()


def test_controls_by_delay_and_ecn_plus_need_bpf_also_where_the_kernel_has_dctcp(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "in_kernel", lambda _: True)
    monkeypatch.setattr(doctor, "TYPES", tmp_path / "vmlinux")
    by_name = {finding.name: finding for finding in examine()}
    for name in ("delay-dctcp, ear", "ECN+"):
        found = by_name[name]
        assert not found.found
        assert "without" in found.detail
        assert "type information" in found.detail
        assert found.needed_for == ()


@pytest.mark.needs("privileges")
def test_nothing_stays_behind() -> None:
    interfaces = set(Path("/sys/class/net").iterdir())
    examine()
    assert not {path.name for path in set(Path("/sys/class/net").iterdir()) - interfaces} & {"v0", "v1"}
