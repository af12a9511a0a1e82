# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tutorial of p4runtime-shell, with the published p4runtime-shell."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from marklab.doctor.examination import SHELL_PYTHON
from marklab.p4runtime import files
from marklab.paths import PROGRAMS
from p4runtime_server.controller import DEVICE, FEATURES, SECONDS, Switch, colour, probe

pytestmark = pytest.mark.needs("p4runtime-shell")


def run(switch: Switch, pushed: Switch, folder: Path, commands: str) -> subprocess.CompletedProcess[str]:
    """Type commands into a shell that starts by pushing the pipeline of a switch."""
    info = folder / "p4info.txt"
    files.write(pushed.running.info, info)
    options = ["--grpc-addr", switch.address, "--device-id", str(DEVICE), "--election-id", "0,1"]
    options += ["--config", f"{info},{pushed.running.source}"]
    return subprocess.run(
        [SHELL_PYTHON, "-m", "p4runtime_sh", *options],
        input=commands,
        capture_output=True,
        text=True,
        timeout=6 * SECONDS,
        # A separate home, without an IPython profile and history.
        env=os.environ | {"IPYTHONDIR": str(folder), "TERM": "dumb", "PYTHONWARNINGS": "ignore"},
    )


def shell(switch: Switch, folder: Path, commands: str) -> str:
    """The output of a shell that pushes the pipeline of the switch and gets these commands."""
    lines = [line.strip() for line in commands.strip().splitlines()]
    finished = run(switch, switch, folder, "\n".join(lines) + "\n")
    assert finished.returncode == 0, finished.stderr
    return "\n".join(part.strip() for part in finished.stdout.split("P4Runtime sh >>> ")[1:])


def test_a_scheme_is_set_up_from_the_shell(switch_of: Callable[..., Switch], tmp_path: Path) -> None:
    switch = switch_of(PROGRAMS / "dctcp-red.p4")
    route = 'te = table_entry["SwitchIngress.ipv4_lpm"](action="SwitchIngress.forward")'
    out = shell(
        switch,
        tmp_path,
        f"""
            tables
            {route}
            te.match["dst_addr"] = "10.0.0.0/24"
            te.action["port"] = "3"
            te.action["dst_addr"] = "02:00:00:00:00:03"
            te.insert()
            te.insert()
            te.read(lambda entry: print("read:", entry.action["port"]))
            te.action["port"] = "4"
            te.modify()
            te.read(lambda entry: print("read:", entry.action["port"]))
            te.delete()
            te.read(lambda entry: print("left:", entry))
            k = table_entry["SwitchEgress.marking.params"](action="set_params", is_default=True)
            k.action["k_pkts"] = "65"
            k.modify()
            k.read(lambda entry: print("K:", entry.action["k_pkts"]))
            """,
    )
    assert "SwitchIngress.ipv4_lpm\nSwitchIngress.service_queue" in out
    assert "ALREADY_EXISTS, 'table `SwitchIngress.ipv4_lpm` has an entry with this key; modify it'" in out
    assert re.findall(r'read: param_id: 1\nvalue: "(.*)"', out) == [r"\003", r"\004"]
    assert re.findall(r'K: param_id: 1\nvalue: "(.*)"', out) == ["A"]
    assert "left:" not in out


def test_the_tutorial_of_all_entities(switch: Switch, tmp_path: Path) -> None:
    """Counters, meters, profiles, replication and packets, as in the shell's `usage` pages."""

    def answer_with_a_packet_in() -> None:
        switch.cpu.frames.get(timeout=6 * SECONDS)
        switch.cpu.inject(300, probe(0, c=9))

    answering = threading.Thread(target=answer_with_a_packet_in)
    answering.start()
    out = shell(
        switch,
        tmp_path,
        """
            te = table_entry["routes"](action="to_controller")
            te.action["reason"] = "85"
            te.insert()
            po = packet_out(payload=b"0123456789", egress_port="7")
            po.send()
            packet_in.sniff(lambda message: print("packet in:", message), timeout=2)
            te.counter_data
            te.read(lambda entry: print("hits:", entry.counter_data.packet_count))
            ce = counter_entry["seen"]
            ce.index = 0
            ce.read(lambda entry: print("seen:", entry.packet_count))
            ce.packet_count = 41
            ce.modify()
            ce.read(lambda entry: print("seen:", entry.packet_count))
            me = meter_entry["limits"]
            me.index = 1
            me.cir = 1
            me.cburst = 1
            me.pir = 1
            me.pburst = 2
            me.modify()
            me.read(lambda entry: print("pburst:", entry.pburst))
            m = action_profile_member["balanced"](member_id=1, action="send")
            m.action["port"] = "11"
            m.insert()
            g = action_profile_group["balanced"](group_id=2)
            g.add(1, 3)
            g.insert()
            action_profile_group["balanced"](group_id=2).read(lambda entry: print("group:", entry))
            ch = table_entry["choices"]
            ch.match["a"] = "1"
            ch.group_id = 2
            ch.insert()
            ch.read(lambda entry: print("points to:", entry.group_id))
            ru = table_entry["rules"](action="pace_to")
            ru.action["port"] = "12"
            ru.match["a"] = "1&&&0xf"
            ru.match["b"] = "5..9"
            ru.match["c"] = "7"
            ru.priority = 3
            ru.insert()
            ru.read(lambda entry: print("priority:", entry.priority))
            mc = multicast_group_entry(9)
            mc.add(5, 1).add(6, 2)
            mc.insert()
            mc.read(lambda entry: print("multicast:", entry))
            cs = clone_session_entry(4)
            cs.add(8, 1)
            cs.insert()
            cs.read(lambda entry: print("clones:", entry))
            """,
    )
    answering.join()
    assert r'value: "\001,"' in out.partition("packet in:")[2], "the port, 300"
    for shown in ("hits: 1", "seen: 1", "seen: 41", "pburst: 2", "points to: 2", "priority: 3"):
        assert f"\n{shown}\n" in out
    for shown in ("group_id: 2", "multicast_group_id: 9", "session_id: 4"):
        assert shown in out
    assert "Error" not in out
    # The switch behaves as the commands say.
    assert [colour(switch.sent(probe(7, a=1))[0][1]) for _ in range(3)] == [0, 1, 2]
    assert switch.ports(probe(3, a=1)) == [11]
    packets = [probe(1, a=0x11, b=b, c=7) for b in (4, 5, 9, 10)]
    assert [len(switch.ports(packet)) for packet in packets] == [0, 1, 1, 0]


def test_the_shell_is_told_why_a_pipeline_is_refused(switch_of: Callable[..., Switch], tmp_path: Path) -> None:
    switch, other = switch_of(PROGRAMS / "dctcp-red.p4"), switch_of(FEATURES)
    finished = run(switch, other, tmp_path, "")
    assert finished.returncode != 0
    assert "the P4Info is not that of dctcp-red.p4, which this switch runs" in finished.stderr
