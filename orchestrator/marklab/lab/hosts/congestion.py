# SPDX-License-Identifier: MIT OR Apache-2.0
"""Congestion controls by the names that experiments have for them, in the kernel as long as somebody needs them.

`dctcp` is the kernel's tcp_dctcp where it has that, else dctcp.bpf.c. Those that react to delays are delay_dctcp.bpf.c.
These are compiled against the type information of the kernel that runs, and registered under names of their own, so
that labs side by side do not share one. What is registered outlives its process. So each name has a file that its
process holds locked: a control whose file no process holds may be removed by any other.
"""

from __future__ import annotations

import fcntl
import json
import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from marklab.errors import BadInput, MarklabError, RunFailed, SetupError, unknown
from marklab.lab.commands import run
from marklab.lab.hosts import bpf

_HERE = Path(__file__).parent
# DCTCP, and what it shares with that which reacts to delays.
SOURCES = (_HERE / "dctcp.bpf.c", _HERE / "dctcp.bpf.h")
# What delay_dctcp.bpf.c implements; it had other arguments before Linux 6.10.
_CONG_CONTROL = "void (*cong_control)(struct sock *, u32, int, const struct rate_sample *);"
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
# One of another container has its file elsewhere, and is left alone.
_LOCKS = Path("/run/marklab")
_LOCK = ".lock"

# Names have 15 characters at most, and no `-`.
_NAME = re.compile(r"mldctcp_[0-9a-f]{6}")


@dataclass(frozen=True)
class Control:
    """How Linux is made to behave in a certain way."""

    # The name of the control in the kernel, or that of the one whose law it has.
    kernel: str
    ecn: bool
    # Whether an acknowledgement that is late tells of congestion, for which it takes a threshold.
    delay: bool = False


# `ecn-star` is RFC 3168's: ECN is negotiated, and Reno takes a mark as it takes a loss, once per window of data.
CONTROLS = {
    "dctcp": Control("dctcp", ecn=True),
    "delay-dctcp": Control("dctcp", ecn=False, delay=True),
    "ear": Control("dctcp", ecn=True, delay=True),
    "ecn-star": Control("reno", ecn=True),
    "reno": Control("reno", ecn=False),
    "cubic": Control("cubic", ecn=False),
}


def control_named(name: str) -> Control:
    """What an experiment's name for a control means."""
    if name not in CONTROLS:
        raise unknown("congestion control", name, CONTROLS)
    return CONTROLS[name]


def in_kernel(name: str) -> bool:
    """Whether the kernel has it, perhaps as a module that it loads when asked for."""
    if name in _AVAILABLE.read_text(encoding="ascii").split():
        return True
    with suppress(MarklabError):
        run("modprobe", "--quiet", f"tcp_{name}")
        return True
    return False


@contextmanager
def loaded(control: Control, records: int = 0, delay_threshold_ns: int | None = None) -> Iterator[str]:
    """The kernel's name for a control, which is there as long as the context.

    `records`, if it is not 0, is how many observation windows the DCTCP in BPF remembers; the kernel's own does not.
    An acknowledgement is late if it comes after the base RTT and `delay_threshold_ns`, in the time that hosts live in.
    """
    if control.delay and delay_threshold_ns is None:
        raise BadInput("a congestion control that reacts to delays has to know which", "give it a `delay_threshold`")
    if not control.delay and delay_threshold_ns is not None:
        raise BadInput(f"{control.kernel} does not react to delays", "leave out `delay_threshold`")
    if not control.delay and (control.kernel != "dctcp" or (not records and in_kernel("dctcp"))):
        if not in_kernel(control.kernel):
            raise SetupError(
                f"this kernel has no congestion control `{control.kernel}`", f"modprobe tcp_{control.kernel}"
            )
        yield control.kernel
        return
    bpf.check("DCTCP in BPF", _remedy(control, "a kernel with CONFIG_DEBUG_INFO_BTF"))
    remove_orphans()
    name = f"mldctcp_{secrets.token_hex(3)}"
    with _claimed(name), tempfile.TemporaryDirectory(prefix=f"{name}-") as folder:
        program = _compile(control, _defined(control, name, records, delay_threshold_ns), Path(folder) / f"{name}.o")
        try:
            run("bpftool", "struct_ops", "register", str(program))
            yield name
        finally:
            _remove(name)


def _remedy(control: Control, kernel: str) -> str:
    """A kernel that will do; its own DCTCP will not, where delays count."""
    return kernel if control.delay else f"{kernel}, or one with tcp_dctcp, as Debian's"


def _defined(control: Control, name: str, records: int, delay_threshold_ns: int | None) -> list[str]:
    """Constants of the source."""
    constants: dict[str, object] = {"NAME": name}
    if control.delay:
        constants["ECN"] = int(control.ecn)
        constants["DELAY_NS"] = f"{delay_threshold_ns}ULL"
    if records:
        constants["RECORDS"] = records
    return [f"-DCC_{key}={value}" for key, value in constants.items()]


def _compile(control: Control, defined: list[str], program: Path) -> Path:
    types = bpf.kernel_types()
    source = "delay_dctcp.bpf.c" if control.delay else "dctcp.bpf.c"
    if _CONG_CONTROL not in types:
        raise SetupError("DCTCP in BPF needs Linux 6.10", _remedy(control, "a newer kernel"))
    return bpf.compiled(_HERE / source, types, program, defined)


def registered() -> list[str]:
    """Controls of labs that the kernel has now."""
    rows = json.loads(run("bpftool", "--json", "struct_ops", "list"))
    return [row["name"] for row in rows if _NAME.fullmatch(row["name"])]


def remove_orphans() -> list[str]:
    """Remove controls whose process has not lived to do it. Gives their names."""
    orphans = []
    for path in sorted(_LOCKS.glob(f"*{_LOCK}")):
        with suppress(FileNotFoundError, BlockingIOError), _locked(path, "r+"):
            _remove(path.stem)
            path.unlink()
            orphans.append(path.stem)
    return orphans


def _remove(name: str) -> None:
    """Connections that use it keep it until they are closed; it is listed as long."""
    if name not in registered():
        return
    try:
        run("bpftool", "struct_ops", "unregister", "name", name)
    except RunFailed as error:
        # EINPROGRESS: it was unregistered before.
        if "now in progress" not in str(error):
            raise


@contextmanager
def _claimed(name: str) -> Iterator[None]:
    _LOCKS.mkdir(exist_ok=True)
    path, unlocked = _LOCKS / (name + _LOCK), _LOCKS / f"{name}.new"
    with _locked(unlocked, "x"):
        # No other process finds it before it is locked.
        unlocked.rename(path)
        try:
            yield
        finally:
            path.unlink()


@contextmanager
def _locked(path: Path, mode: str) -> Iterator[None]:
    with path.open(mode, encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
