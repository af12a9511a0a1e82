# SPDX-License-Identifier: MIT OR Apache-2.0
"""P4Runtime on the real-time switch: the same server, over a switch in a separate thread."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from marklab.engine import binding as engine
from marklab.p4runtime.messages import p4runtime_pb2
from marklab.p4runtime.server import Running
from marklab.paths import PROGRAMS, REPOSITORY
from p4runtime_server.controller import CPU_PORT, DEVICE, Client, entity
from test_live import ipv4

SCHEME = PROGRAMS / "dctcp-red.p4"


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a switch process that runs a scheme, and has only the controller's port."""
    command = [sys.executable, str(REPOSITORY / "orchestrator.py"), "switch", str(SCHEME), "--cpu-port", str(CPU_PORT)]
    options = ["--grpc-server-addr", "127.0.0.1:0", "--device-id", str(DEVICE)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        serving = re.search(r"runs on ports 510 controller, P4Runtime at (127.0.0.1:[0-9]+);", said)
        assert serving is not None, said + process.stderr.read()
        yield serving[1]
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")
    assert '"drops"' in out


def test_a_controller_sets_up_a_running_switch_and_exchanges_packets(address: str) -> None:
    info = Running.load(SCHEME, engine.compile_program(SCHEME)).info
    table = next(each for each in info.tables if each.preamble.name.endswith("ipv4_lpm"))
    forward = next(each for each in info.actions if each.preamble.name.endswith("forward"))
    route = entity(
        "table_entry",
        f"""
        table_id: {table.preamble.id}
        match {{ field_id: 1 lpm {{ value: "\\n\\000\\000\\001" prefix_len: 32 }} }}
        action {{ action {{ action_id: {forward.preamble.id}
            params {{ param_id: 1 value: "\\001\\376" }} params {{ param_id: 2 value: "\\001" }} }} }}
        """,
    )
    client = Client(address)
    try:
        assert client.arbitrate(1).status.code == 0
        client.write("INSERT", route)
        assert client.read(entity("table_entry", f"table_id: {table.preamble.id}")) == [route]
        client.send(packet=p4runtime_pb2.PacketOut(payload=ipv4(bytes([10, 0, 0, 1]))))
        returned = client.answer().packet.payload
        assert returned[:6] == bytes([0, 0, 0, 0, 0, 1])
        assert returned[30:34] == bytes([10, 0, 0, 1])
    finally:
        client.close()
