"""What the tutorial of p4runtime-shell does, by p4runtime-shell as it is in the registry."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from orchestrator.p4runtime import files
from orchestrator.paths import PROGRAMS
from p4runtime_server.controller import DEVICE, SECONDS, Switch

_PROMPT = re.compile(r"P4Runtime sh >>> ")


def shell(switch: Switch, folder: Path, commands: str) -> list[str]:
    """Type commands into a shell that starts by pushing the pipeline; gives what each printed."""
    info = folder / "p4info.txt"
    files.write(switch.running.info, info)
    options = ["--grpc-addr", switch.address, "--device-id", str(DEVICE), "--election-id", "0,1"]
    options += ["--config", f"{info},{switch.running.source}"]
    lines = [line.strip() for line in commands.strip().splitlines()]
    finished = subprocess.run(
        [sys.executable, "-m", "p4runtime_sh", *options],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=6 * SECONDS,
        # A home of its own: nobody's IPython profile, no history.
        env=os.environ | {"IPYTHONDIR": str(folder), "TERM": "dumb", "PYTHONWARNINGS": "ignore"},
    )
    assert finished.returncode == 0, finished.stderr
    # Behind each prompt stands what the line before it printed; the last ones are the end of the input.
    shown = [part.strip() for part in _PROMPT.split(finished.stdout)[1:]]
    assert len(shown) > len(lines), finished.stdout
    return shown


def said(shown: list[str]) -> str:
    return "\n".join(shown)


def test_a_scheme_is_set_up_from_the_shell(switch_of: Callable[..., Switch], tmp_path: Path) -> None:
    switch = switch_of(PROGRAMS / "dctcp-red.p4")
    route = 'te = table_entry["SwitchIngress.ipv4_lpm"](action="SwitchIngress.forward")'
    out = said(
        shell(
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
    )
    assert "SwitchIngress.ipv4_lpm\nSwitchIngress.service_queue" in out
    assert "ALREADY_EXISTS, 'table `SwitchIngress.ipv4_lpm` has an entry with this key; modify it'" in out
    assert re.findall(r'read: param_id: 1\nvalue: "(.*)"', out) == [r"\003", r"\004"]
    assert re.findall(r'K: param_id: 1\nvalue: "(.*)"', out) == ["A"]
    assert "left:" not in out
