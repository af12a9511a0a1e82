# SPDX-License-Identifier: MIT OR Apache-2.0
"""ECN+ on real hosts: a program at each host's interface makes its answers to SYNs ECN capable (ecn_plus.bpf.c)."""

from __future__ import annotations

from pathlib import Path

from marklab.errors import RunFailed, SetupError
from marklab.lab.commands import run
from marklab.lab.hosts import bpf
from marklab.lab.network import Net
from marklab.topology import Port

_SOURCE = Path(__file__).with_name("ecn_plus.bpf.c")
_REMEDY = "a kernel with {}, as Debian's; or --fabric sim"


def check() -> None:
    """Refuse a machine that cannot load it."""
    bpf.check("ECN+ on real hosts", _REMEDY.format("CONFIG_DEBUG_INFO_BTF"))


def attach(net: Net, folder: Path) -> None:
    """Have all hosts of a network answer so; what is attached goes with their interfaces."""
    folder.mkdir()
    program = bpf.compiled(_SOURCE, bpf.kernel_types(), folder / "ecn_plus.o")
    for host in range(len(net.graph.hosts)):
        at = ("dev", net.interface(Port(host, 0)))
        loading = ("bpf", "direct-action", "object-file", str(program), "section", "tc")
        try:
            run(*net.inside(host), "tc", "qdisc", "add", *at, "clsact")
            run(*net.inside(host), "tc", "filter", "add", *at, "egress", *loading)
        except RunFailed as error:
            raise SetupError(
                f"a host's interface takes no program: {error}",
                _REMEDY.format("CONFIG_NET_CLS_BPF and CONFIG_NET_SCH_INGRESS"),
            ) from error
