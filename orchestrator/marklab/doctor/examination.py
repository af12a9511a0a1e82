# SPDX-License-Identifier: MIT OR Apache-2.0
"""What this machine offers to the lab: found or missing, what is used instead, and how to get it.

Each thing is looked for as the lab itself will use it: namespaces are made, queueing disciplines set, Mininet loaded by
the Python that has it. Nothing stays behind. What tests need besides is looked for as well: a test is skipped only for
something in this list (tests/needs.py).
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from marklab.engine import binding as engine
from marklab.errors import SetupError
from marklab.execution.memory import available_bytes
from marklab.hosts import ns2
from marklab.lab.bmv2 import limits as bmv2_limits
from marklab.lab.commands import missing, packages_of
from marklab.lab.hosts.bpf import TOOLS as BPF_TOOLS
from marklab.lab.hosts.bpf import TYPES
from marklab.lab.hosts.congestion import in_kernel
from marklab.lab.network import MAKES_NODE, NODES_REMEDY, REAL_TIME, SYSTEM_PYTHON, TOOLS
from marklab.ns3 import peer
from marklab.p4tools.peers import bmv2 as simple_switch
from marklab.paths import IN_TREE, NOTED_COMMIT, PACKAGE, REPOSITORY, RESULTS
from marklab.prepare.versions import commit
from marklab.promotion.vendor import compiler

PURPOSES = ("sim", "mininet", "bmv2", "docker")

# Mininet's package has mnexec.
NETWORK_TOOLS = (*(tool for tool in TOOLS if tool != "mnexec"), "nstat", "ping", "ss")
_BPF_HEADER = Path("/usr/include/bpf/bpf_helpers.h")
# Since then struct_ops has the arguments that delay_dctcp.bpf.c takes.
_BPF_KERNEL = (6, 10)

_QDISC = ("tc", "qdisc", "add", "dev", "lo", "root")

# Bits of linux/capability.h.
_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21}

_PROBE_S = 20.0
_GIB = 1 << 30
# p4runtime-shell wants an older protobuf than the lab.
SHELL_PYTHON = REPOSITORY / ".venv-p4runtime-shell" / "bin" / "python"

# Checkouts with programs for tests, by the variables that name them: the repository, and a folder that it has.
_CHECKOUTS = {
    "P4C_CHECKOUT": ("p4lang/p4c", "testdata/p4_16_samples"),
    "P4_TUTORIALS": ("p4lang/tutorials", "exercises"),
    "OPEN_P4STUDIO": ("p4lang/open-p4studio", "pkgsrc/p4-examples"),
}

# A run of the size of the papers', with room to spare.
_MEMORY_GIB, _DISK_GIB = 2, 1


@dataclass(frozen=True)
class Resource:
    """One thing that the lab can use."""

    name: str
    found: bool
    # What was found, or what of it is missing.
    detail: str
    # What cannot be done without it.
    needed_for: tuple[str, ...] = ()
    # What the lab uses without it.
    instead: str = ""
    # How to get it.
    get: str = ""
    # Debian's packages that have it.
    packages: tuple[str, ...] = ()


def examine() -> list[Resource]:
    """Look for everything."""
    looks = (_sim, _privileges, _network, _control, _mininet, _bmv2, _docker, _pages, _peers)
    return [finding for look in looks for finding in look()]


def lacking(findings: Sequence[Resource], purpose: str) -> list[Resource]:
    """What is missing for a purpose."""
    return [finding for finding in findings if not finding.found and purpose in finding.needed_for]


def _sim() -> list[Resource]:
    try:
        version, is_there = engine.version(), True
    except SetupError as error:
        version, is_there = str(error), False
    cores = len(os.sched_getaffinity(0))
    memory_gib = available_bytes() / _GIB
    disk_gib = shutil.disk_usage(RESULTS.absolute().parent).free / _GIB
    return [
        Resource("engine", is_there, version, PURPOSES[:3], get="make setup"),
        Resource("Python", True, platform.python_version()),
        Resource("cores", cores > 1, str(cores), instead="more --dilation in Mininet", get="a machine with 2 or more"),
        Resource(
            "memory",
            memory_gib > _MEMORY_GIB,
            f"{memory_gib:.1f} GiB free",
            instead="fewer --flows, --jobs 1",
            get=f"{_MEMORY_GIB} GiB or more",
        ),
        Resource(
            "disk",
            disk_gib > _DISK_GIB,
            f"{disk_gib:.1f} GiB free",
            instead="--out on another disk, no --pcap",
            get=f"{_DISK_GIB} GiB or more",
        ),
    ]


def _privileges() -> list[Resource]:
    held = int(re.search(r"CapEff:\s*(\w+)", Path("/proc/self/status").read_text())[1], 16)  # type: ignore[index]
    absent = [name for name, bit in _CAPABILITIES.items() if not held >> bit & 1]
    return [
        Resource(
            "privileges",
            not absent,
            "root"
            if os.geteuid() == 0 and not absent
            else f"without {', '.join(absent)}"
            if absent
            else "capabilities",
            ("mininet", "bmv2"),
            "sim needs none",
            "sudo, or a container with these capabilities",
        ),
        _qualified(
            "real-time priority",
            (*REAL_TIME, "true"),
            instead="ordinary scheduling, which keeps up less often",
            get="root; in a container, CAP_SYS_NICE, and time of that kind (docker/real-time.yml)",
        ),
    ]


def _network() -> list[Resource]:
    absent = missing(NETWORK_TOOLS)
    namespace = ("unshare", "--net")
    made = _works(*namespace, "true")
    in_kernel = "a kernel with {}; Debian's has it"
    return [
        Resource(
            "network tools",
            not absent,
            f"without {', '.join(absent)}" if absent else f"{len(NETWORK_TOOLS)} of {len(NETWORK_TOOLS)}",
            ("mininet", "bmv2"),
            **_debian(*packages_of(absent)),
        ),
        Resource(
            "namespaces",
            made,
            "can be made" if made else "cannot be made",
            ("mininet", "bmv2"),
            get="root; in a container, CAP_SYS_ADMIN and no seccomp filter on unshare",
        ),
        _qualified(
            "veth",
            (*namespace, "ip", "link", "add", "name", "v0", "type", "veth", "peer", "name", "v1"),
            ("mininet", "bmv2"),
            get=in_kernel.format("CONFIG_VETH"),
        ),
        Resource(
            "packet sockets",
            Path("/proc/net/packet").exists(),
            "AF_PACKET" if Path("/proc/net/packet").exists() else "no AF_PACKET",
            ("mininet", "bmv2"),
            get=in_kernel.format("CONFIG_PACKET"),
        ),
        _qualified(
            "tbf",
            (*namespace, *_QDISC, "tbf", "rate", "1mbit", "burst", "3000", "limit", "9000"),
            ("mininet",),
            get=in_kernel.format("CONFIG_NET_SCH_TBF"),
        ),
        _qualified(
            "netem",
            (*namespace, *_QDISC, "netem", "delay", "1ms"),
            instead="delay lines of the switch",
            get=in_kernel.format("CONFIG_NET_SCH_NETEM"),
        ),
    ]


def _qualified(
    name: str, trial: Sequence[str], needed_for: tuple[str, ...] = (), instead: str = "", get: str = ""
) -> Resource:
    works = _works(*trial)
    return Resource(name, works, "works" if works else "does not work", needed_for, instead, get)


def _control() -> list[Resource]:
    """DCTCP, by either way; the parts of the other way are needed where the kernel has none of its own."""
    has_module = in_kernel("dctcp")
    needed = () if has_module else ("mininet",)
    release = platform.release()
    number = tuple(int(part) for part in re.findall(r"\d+", release)[:2])
    absent = missing(BPF_TOOLS)
    without = [*absent, *([] if _BPF_HEADER.exists() else ["libbpf's headers"])]
    packages = [*packages_of(absent), *([] if _BPF_HEADER.exists() else ["libbpf-dev"])]
    module = Resource(
        "DCTCP module",
        has_module,
        "tcp_dctcp" if has_module else "no tcp_dctcp",
        instead="DCTCP in BPF, below",
        get="a kernel with CONFIG_TCP_CONG_DCTCP; Debian's has it",
    )
    in_bpf = [
        Resource(
            "Linux 6.10",
            number >= _BPF_KERNEL,
            release,
            needed,
            "the module" if has_module else "",
            "a newer kernel, for DCTCP in BPF",
        ),
        Resource(
            "type information",
            TYPES.exists(),
            "BTF" if TYPES.exists() else "no BTF",
            needed,
            "the module" if has_module else "",
            "a kernel with CONFIG_DEBUG_INFO_BTF; Debian's has it",
        ),
        Resource(
            "BPF tools",
            not without,
            f"without {', '.join(without)}" if without else ", ".join(BPF_TOOLS),
            needed,
            "the module" if has_module else "",
            **_debian(*packages),
        ),
    ]
    return [module, *in_bpf, _control_by_delay(in_bpf), _ecn_plus(in_bpf[1:])]


def _control_by_delay(in_bpf: Sequence[Resource]) -> Resource:
    lacks = ", ".join(finding.name for finding in in_bpf if not finding.found)
    return Resource(
        "delay-dctcp, ear",
        not lacks,
        f"without {lacks}" if lacks else "DCTCP in BPF",
        instead="--fabric sim",
        get="what DCTCP in BPF needs; tcp_dctcp knows of no delays",
    )


def _ecn_plus(in_bpf: Sequence[Resource]) -> Resource:
    lacks = [finding.name for finding in in_bpf if not finding.found]
    if not _works("unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "clsact"):
        lacks.append("clsact")
    return Resource(
        "ECN+",
        not lacks,
        f"without {', '.join(lacks)}" if lacks else "a program at hosts' interfaces",
        instead="--fabric sim",
        get="what DCTCP in BPF needs; a kernel with CONFIG_NET_SCH_INGRESS and CONFIG_NET_CLS_BPF",
    )


def _mininet() -> list[Resource]:
    version = (
        None if missing(["mnexec"]) else _said(SYSTEM_PYTHON, "-c", "import mininet.net as net; print(net.VERSION)")
    )
    return [
        _mininet_finding(version),
        _tool("iperf3", "no long flows by iperf3"),
        _tool("tcpdump", "--pcap of the switch"),
        _tool("tshark", "any other reader of captures"),
        _shell(),
    ]


def _mininet_finding(version: str | None) -> Resource:
    if version is not None and os.geteuid() == 0 and not _works(*MAKES_NODE):
        return Resource("Mininet", False, f"{version}, which cannot make a node", ("mininet",), get=NODES_REMEDY)
    return Resource("Mininet", version is not None, version or "not there", ("mininet",), **_debian("mininet"))


def _shell() -> Resource:
    there = SHELL_PYTHON.exists()
    get = "make dev" if IN_TREE else "pip install p4runtime-shell, in an environment of its own"
    detail = "in an environment of its own" if there else "not there"
    return Resource("p4runtime-shell", there, detail, instead="any other client of P4Runtime", get=get)


def _tool(name: str, instead: str) -> Resource:
    path = shutil.which(name)
    return Resource(name, path is not None, path or "not there", (), instead, **_debian(*packages_of([name])))


def _bmv2() -> list[Resource]:
    absent = missing(bmv2_limits.TOOLS)
    versions = {tool: re.search(r"\d+(\.\d+)+", _said(tool, "--version") or "") for tool in bmv2_limits.TOOLS}
    told = ", ".join(f"{tool} {number[0]}" for tool, number in versions.items() if number)
    detail = f"without {', '.join(absent)}" if absent else told
    return [Resource("BMv2", not absent, detail, ("bmv2",), "--switch marklab", bmv2_limits.REMEDY)]


def _docker() -> list[Resource]:
    daemon = _said("docker", "version", "--format", "{{.Server.Version}}")
    plugin = _said("docker", "compose", "version", "--short")
    compose = plugin or _said("docker-compose", "version", "--short")
    return [
        Resource(
            "Docker",
            daemon is not None,
            f"daemon {daemon}" if daemon else "no daemon answers" if shutil.which("docker") else "not there",
            ("docker",),
            "the lab on this machine",
            **_debian("docker.io", more="; then start dockerd"),
        ),
        Resource(
            "Docker Compose",
            compose is not None,
            compose or "not there",
            ("docker",),
            "the lab on this machine",
            **_debian("docker-compose"),
        ),
    ]


def _pages() -> list[Resource]:
    browser = chromium()
    get = _debian("chromium", more=", or MARKLAB_CHROMIUM=/path/to/it")
    return [
        Resource("Chromium", browser is not None, browser or "not there", instead="any browser, by hand", **get),
        _wheel(),
        _tool("debootstrap", "no tests of bare machines"),
        _tool("script", "no tests of what a terminal shows"),
        _tool("nvim", "no test with Neovim"),
        _emacs(),
        _node(),
        _code_server(),
        _tool("cpp", "no second preprocessor for tests"),
    ]


def _emacs() -> Resource:
    """Emacs with a client of language servers, which Debian 12 has as a package."""
    there = _said("emacs", "--batch", "--eval", "(princ (and (require 'eglot nil t) emacs-version))")
    found = there is not None and there != "nil"
    detail = f"{there} with eglot" if found else "without eglot" if there else "not there"
    return Resource("emacs", found, detail, (), "no test with Emacs", **_debian("emacs-nox", "elpa-eglot"))


def _node() -> Resource:
    path = shutil.which("npm")
    get = "Node 20 or newer (https://nodejs.org), which has it"
    return Resource("npm", path is not None, path or "not there", (), "no test with VS Code", get)


def _code_server() -> Resource:
    path = code_server()
    get = "npm install --global code-server, or MARKLAB_CODE_SERVER=/path/to/it"
    return Resource("code-server", path is not None, path or "not there", (), "no test with VS Code", get)


def code_server() -> str | None:
    """Where code-server is, which is VS Code in a browser; None if it is nowhere."""
    return os.environ.get("MARKLAB_CODE_SERVER") or shutil.which("code-server")


def _wheel() -> Resource:
    there = built_wheel()
    found = there.name if there else "none of this commit"
    return Resource("wheel", there is not None, found, instead="the source tree", get="make wheel")


def built_wheel() -> Path | None:
    """The wheel in dist/ that `make wheel` built from the tree as it is; None without one."""
    for path in (REPOSITORY / "dist").glob("marklab-*.whl"):
        with zipfile.ZipFile(path) as wheel:
            if wheel.read(f"marklab/{NOTED_COMMIT.relative_to(PACKAGE)}").decode().strip() == commit():
                return path
    return None


def chromium() -> str | None:
    """Where Chromium is; None if it is nowhere."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("MARKLAB_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def _peers() -> list[Resource]:
    """Programs of others that results are held against."""
    absent, for_tofino, lacks = simple_switch.missing_tools(), compiler(), peer.missing()
    return [
        Resource(
            "simple_switch",
            not absent,
            f"without {', '.join(absent)}" if absent else "with p4c-bm2-ss",
            instead="what docs/differential.md has",
            get=bmv2_limits.REMEDY,
        ),
        Resource(
            "p4c for Tofino",
            for_tofino is not None,
            for_tofino or "not there",
            instead="the lab's own estimate",
            get="p4c with its Tofino back end on PATH (https://github.com/p4lang/p4c, backends/tofino)",
        ),
        Resource(
            "ns-3",
            not lacks,
            f"without {', '.join(lacks)}" if lacks else "libns3",
            instead="what docs/ns3.md has",
            **_debian(*peer.PACKAGES, more=" (Debian 12: ns-3.37)"),
        ),
        Resource(
            "ns-2",
            ns2.is_there(),
            "ns" if ns2.is_there() else "without ns",
            instead="what docs/hosts.md has",
            **_debian(ns2.PACKAGE, more=" (Debian 12: ns-2.35)"),
        ),
        *(_checkout(variable, *described) for variable, described in _CHECKOUTS.items()),
    ]


def _checkout(variable: str, repository: str, part: str) -> Resource:
    folder = os.environ.get(variable)
    there = folder is not None and Path(folder, part).is_dir()
    return Resource(
        variable,
        there,
        folder if folder and there else f"{folder} has no {part}" if folder else "names no checkout",
        instead="the tests that the lab has itself",
        get=f"git clone https://github.com/{repository}; then {variable}=/path/to/it",
    )


class _Debian(TypedDict):
    get: str
    packages: tuple[str, ...]


def _debian(*packages: str, more: str = "") -> _Debian:
    """How to get what Debian has packages for."""
    return {"get": f"apt-get install {' '.join(packages)}{more}" if packages else "", "packages": packages}


def _works(*command: str) -> bool:
    return _said(*command) is not None


def _said(*command: str) -> str | None:
    """What a program printed, also as an error; None if it is not there, or failed."""
    if shutil.which(command[0]) is None:
        return None
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PROBE_S)  # noqa: S603
    except subprocess.TimeoutExpired:
        return None
    return found.stdout.strip() or found.stderr.strip() if found.returncode == 0 else None
