# SPDX-License-Identifier: MIT OR Apache-2.0
"""The bundle of a promoted scheme: the program with its includes, its entries, the evidence and a manifest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from marklab.catalog.twin import TwinSpec
from marklab.engine import binding as engine
from marklab.paths import PROGRAMS
from marklab.prepare.experiment import ReadyScheme
from marklab.prepare.versions import lab_itself
from marklab.promotion.build import compiler_arguments
from marklab.promotion.gates import Gate
from marklab.results.folders import new_folder, to_text, write_json
from marklab.template import filled

# Length of a mirrored copy: the shortest frame.
_NOTE_BYTES = 64

_INCLUDE = re.compile(r'^\s*#include\s+"([^"]+)"', re.MULTILINE)


def write_bundle(
    folder: Path, scheme: ReadyScheme, twin: TwinSpec, gates: Sequence[Gate], policy: Mapping[str, Any]
) -> None:
    """Write the whole bundle, or nothing."""
    program = scheme.fitted.scheme.program
    with new_folder(folder) as staging:
        for source in sources(program):
            target = staging / "p4" / source.relative_to(PROGRAMS.parent)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
        (staging / "entries").mkdir()
        given = {
            "entries": plain_entries(scheme),
            "mirrors": {str(session): port for session, port in scheme.mirrors.items()},
            "filters": scheme.fitted.filters,
        }
        write_json(staging / "entries" / "entries.json", given)
        (staging / "entries" / "bfrt.py").write_text(bfrt_script(scheme), encoding="utf-8")
        (staging / "build.sh").write_text(build_script(scheme, twin), encoding="utf-8")
        (staging / "build.sh").chmod(0o755)
        evidence = [plain_gate(gate) for gate in gates]
        (staging / "evidence").mkdir()
        write_json(staging / "evidence" / "evidence.json", {"scheme": scheme.label, "gates": evidence})
        (staging / "evidence" / "evidence.html").write_text(_page(scheme, twin, gates), encoding="utf-8")
        write_json(staging / "manifest.json", _manifest(staging, scheme, twin, policy))


def sources(program: Path) -> list[Path]:
    """A program and the files of the tree that it includes, in order of first mention."""
    found, todo = [], [program.resolve()]
    while todo:
        path = todo.pop(0)
        if path in found:
            continue
        found.append(path)
        todo += [(path.parent / name).resolve() for name in _INCLUDE.findall(path.read_text(encoding="utf-8"))]
    return found


def plain_entries(scheme: ReadyScheme) -> list[dict[str, Any]]:
    """The scheme's entries, with full names as the control plane of a Tofino uses them."""
    tables = engine.describe(scheme.program)["tables"]
    return [
        {
            "table": f"pipe.{_full(entry['table'], [table['name'] for table in tables])}",
            "match": entry.get("match"),
            "action": entry["action"],
            "params": entry.get("params", {}),
        }
        for entry in scheme.entries
    ]


def _full(name: str, known: Sequence[str]) -> str:
    return next(each for each in known if each == name or each.endswith(f".{name}"))


def bfrt_script(scheme: ReadyScheme) -> str:
    """The entries as a script for the shell of the switch's driver (bfshell -b, BfRt Python)."""
    lines = [
        f'"""Entries of {scheme.label}: bfshell -b entries/bfrt.py, with the program running.',
        "",
        "Routes are not part of it: fill in Ingress.ipv4_lpm and Ingress.ecmp for the network that the switch is in.",
        '"""',
        "",
        f"p4 = bfrt.{program_name(scheme)}.pipe",
    ]
    return "\n".join([*lines, *_sessions(scheme), *_filters(scheme), *_calls(scheme), "bfrt.complete_operations()", ""])


def _sessions(scheme: ReadyScheme) -> Iterator[str]:
    """Mirror sessions. Copies are truncated, as only the header that is put before them is needed."""
    for session, port in scheme.mirrors.items():
        yield f"# Port {port} of the pipe must be set to recirculate."
        yield (
            f"bfrt.mirror.cfg.add_with_normal(sid={session}, session_enable=True, direction='EGRESS', "
            f"ucast_egress_port={port}, ucast_egress_port_valid=True, max_pkt_len={_NOTE_BYTES})"
        )


def _filters(scheme: ReadyScheme) -> Iterator[str]:
    """Calls that set the time constants of all cells of low-pass filters."""
    known = {each["name"]: each["size"] for each in engine.describe(scheme.program)["filters"]}
    for each in scheme.fitted.filters:
        name = _full(each["filter"], list(known))
        yield f"for index in range({known[name]}):"
        yield (
            f"    p4.{name}.add(LPF_INDEX=index, LPF_SPEC_TYPE='SAMPLE', "
            f"LPF_SPEC_GAIN_TIME_CONSTANT_NS={each['gain_ns']:.0f}, "
            f"LPF_SPEC_DECAY_TIME_CONSTANT_NS={each['decay_ns']:.0f}, "
            "LPF_SPEC_OUT_SCALE_DOWN_FACTOR=0)"
        )


def _calls(scheme: ReadyScheme) -> Iterator[str]:
    for place, entry in enumerate(plain_entries(scheme)):
        table = f"p4.{entry['table'].removeprefix('pipe.')}"
        params = [f"{name}={int(value)}" for name, value in entry["params"].items()]
        if entry["match"] is None:
            yield f"{table}.set_default_with_{entry['action']}({', '.join(params)})"
            continue
        keys = [text for name, kinds in entry["match"].items() for text in _key(name, kinds)]
        if any("range" in kinds or "ternary" in kinds for kinds in entry["match"].values()):
            keys.append(f"MATCH_PRIORITY={place}")
        yield f"{table}.add_with_{entry['action']}({', '.join([*keys, *params])})"


def _key(name: str, kinds: Mapping[str, Any]) -> list[str]:
    ((kind, value),) = kinds.items()
    if kind == "exact":
        return [f"{name}={int(value)}"]
    first, second = (int(part) for part in value)
    names = {
        "lpm": (name, f"{name}_p_length"),
        "ternary": (name, f"{name}_mask"),
        "range": (f"{name}_start", f"{name}_end"),
    }
    return [f"{names[kind][0]}={first}", f"{names[kind][1]}={second}"]


def program_name(scheme: ReadyScheme) -> str:
    """The driver's name of the program, which is a Python identifier."""
    return re.sub(r"\W", "_", scheme.fitted.scheme.program.stem)


def build_script(scheme: ReadyScheme, twin: TwinSpec) -> str:
    """The script that compiles the program, with the parameters that are constants of the program."""
    program = Path("p4") / "tna" / scheme.fitted.scheme.program.name
    arguments = " ".join(compiler_arguments(scheme, twin, program))
    return (
        "#!/bin/sh\n# Compiles the program with p4c's Tofino back end; the folder is the first argument.\n"
        f'cd "$(dirname "$0")"\nexec p4c {arguments} -o "${{1:-build}}"\n'
    )


def plain_gate(gate: Gate) -> dict[str, Any]:
    """Plain data."""
    return {
        "gate": gate.name,
        "outcome": gate.outcome.value,
        "skipped": gate.skipped,
        "rules": [{"rule": each.rule, "found": each.found, "outcome": each.outcome.value} for each in gate.findings],
        "evidence": gate.evidence,
    }


def _manifest(staging: Path, scheme: ReadyScheme, twin: TwinSpec, policy: Mapping[str, Any]) -> dict[str, Any]:
    files = sorted(path for path in staging.rglob("*") if path.is_file())
    return {
        "scheme": scheme.label,
        "title": scheme.fitted.scheme.spec.title if scheme.fitted.scheme.spec else scheme.label,
        "differs": twin.note,
        "chip": twin.chip,
        "parameters": {name: setting.text(scheme.fitted.setup) for name, setting in scheme.fitted.reported.items()},
        "defines": dict(scheme.fitted.defines),
        "program_digest": scheme.program.digest,
        "policy": policy,
        "versions": lab_itself(),
        "sha256": {
            str(path.relative_to(staging)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
        },
    }  # fmt: skip


def _page(scheme: ReadyScheme, twin: TwinSpec, gates: Sequence[Gate]) -> str:
    """The evidence as one HTML file."""
    fitted = scheme.fitted
    page = filled(
        Path(__file__).with_name("evidence.html"),
        label=scheme.label,
        chip=twin.chip.removeprefix("tofino"),
        differs=twin.note,
        settings=[f"{name}: {setting.text(fitted.setup)}" for name, setting in fitted.reported.items()],
        gates=gates,
        to_text=to_text,
    )
    return page + "\n"
