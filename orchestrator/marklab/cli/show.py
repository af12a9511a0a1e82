# SPDX-License-Identifier: MIT OR Apache-2.0
"""`schemes` lists the schemes, `check` finds out whether a program can run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from marklab.catalog.choice import SchemeChoice, parse_choice
from marklab.catalog.description import Forwarding, Needs
from marklab.catalog.parameters import Setup
from marklab.catalog.scheme import FittedScheme, find_scheme, known_schemes
from marklab.cli.programs.tofino import check_tofino
from marklab.devices.frames import MTU_BYTES
from marklab.devices.hosts import Limit
from marklab.engine import binding as engine
from marklab.lab.bmv2 import limits as bmv2_limits
from marklab.prepare.control import check_forwarding
from marklab.prepare.experiment import check_needs
from marklab.spec.description import Spec
from marklab.traffic.rtt import parse_rtt
from marklab.units import format_rate, parse_rate


class Arch(StrEnum):
    """Architectures that a program can be checked for."""

    V1MODEL = "v1model"
    TNA = "tna"
    T2NA = "t2na"


def schemes(
    name: Annotated[str | None, typer.Argument(help="One scheme only, as in `run`.")] = None,
    rate: Annotated[str, typer.Option(help="Link rate from which values are derived.")] = "10G",
    rtt: Annotated[str, typer.Option(help="RTTs from which values are derived.")] = "70us..210us",
) -> None:
    """List the schemes with their parameters, rules and needs."""
    defaults = Spec.model_fields
    queue: Limit = defaults["queue"].default
    setup = Setup(parse_rate(rate), parse_rtt(rtt), defaults["lambda_"].default, queue.in_packets(MTU_BYTES))
    console = Console(highlight=False)
    names = [name] if name else list(known_schemes())
    for each in names:
        choice = parse_choice(each)
        _show(find_scheme(choice).fit(choice, setup), console)
    console.print(Text(f"Values are for {format_rate(setup.rate_bps)}b/s and RTT {setup.rtt}.", style="dim"))
    console.print(Text(f"Limits of BMv2: {'; '.join(bmv2_limits.LIMITS)}.", style="dim"))


def _show(fitted: FittedScheme, console: Console) -> None:
    spec = fitted.scheme.spec
    if spec is None:
        console.print(Text.assemble((fitted.label, "bold"), "  no description beside the program"))
        return
    console.print(Text.assemble((fitted.label, "bold cyan"), "  ", (spec.title, "bold")))
    facts = [spec.summary.strip()]
    if spec.signal:
        facts.append(f"Signal: {spec.signal.what}, {spec.signal.when}, in {spec.signal.unit}.")
    facts.append(f"Queues: {_queues(spec.needs)}.")
    obstacle = bmv2_limits.obstacle(spec.needs)
    facts.append("BMv2 can carry it." if obstacle is None else f"BMv2 cannot carry it: {obstacle}.")
    if spec.presets:
        presets = (f"{name} ({_rules(rules)})" for name, rules in spec.presets.items())
        facts.append(f"Presets: {', '.join(presets)}.")
    if spec.paper:
        facts.append(f"Source: {spec.paper}.")
    for fact in facts:
        console.print(Text(fact), style="default")
    if fitted.settings:
        console.print(_parameters(fitted))
    console.print()


def _queues(needs: Needs) -> str:
    if needs.queues is not None:
        settings = ", ".join(f"{name} {text}" for name, text in needs.queues.items())
        return f"its own ({settings})"
    return f"as in the run, with {' or '.join(needs.schedulers)}" if needs.schedulers else "as in the run"


def _rules(rules: dict[str, str]) -> str:
    return ", ".join(f"{name} = {rule}" for name, rule in rules.items()) or "the rules as they are"


def _parameters(fitted: FittedScheme) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("  parameter", "value", "rule", "meaning"):
        table.add_column(column, overflow="fold")
    for name, setting in fitted.settings.items():
        parameter = setting.parameter
        rule = " | ".join(parameter.choices) if parameter.choices else setting.origin
        table.add_row(f"  {name}", setting.text(fitted.setup), rule, parameter.doc.strip())
    return table


def check(
    program: Annotated[str, typer.Argument(help="A P4 program, or the name of a scheme.")],
    p4info: Annotated[
        list[Path] | None,
        typer.Option(
            "--p4info",
            metavar="FILE",
            help="Write P4Info (.txtpb, .bin or .json; repeatable); do not check whether the lab can run the program.",
        ),
    ] = None,
    p4runtime_entries: Annotated[
        list[Path] | None,
        typer.Option(
            "--p4runtime-entries", metavar="FILE", help="Write the entries of the program's source to this file."
        ),
    ] = None,
    arch: Annotated[
        Arch, typer.Option("--arch", help="v1model: whether the lab can run it; tna, t2na: whether a Tofino can.")
    ] = Arch.V1MODEL,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object (--arch tna).")] = False,
) -> None:
    """Compile a P4 program and show its tables, state and needs."""
    if arch is not Arch.V1MODEL:
        check_tofino(program, "t2na" if arch is Arch.T2NA else "tna", as_json=as_json)
        return
    choice: SchemeChoice = parse_choice(program)
    scheme = find_scheme(choice)
    console = Console(highlight=False)
    if p4info or p4runtime_entries:
        _write_p4runtime(Path(scheme.program), p4info or [], p4runtime_entries or [], console)
        return
    compiled = engine.compile_program(scheme.program)
    if compiled.warnings:
        console.print(Text(compiled.warnings.rstrip()), soft_wrap=True)
    parts = engine.describe(compiled)
    for kind in ("tables", "registers", "counters"):
        for part in parts[kind]:
            console.print(Text.assemble((f"{kind[:-1]:9}", "dim"), _signature(part)), soft_wrap=True)
    console.print(Text.assemble((f"{'arch':9}", "dim"), compiled.arch), soft_wrap=True)
    how = "machine code" if compiled.jit_declined is None else f"interpreted: {compiled.jit_declined}"
    console.print(Text.assemble((f"{'runs as':9}", "dim"), how), soft_wrap=True)
    if compiled.foreign:
        console.print(Text(f"{Path(scheme.program).name} compiles, but cannot run: see above", style="bold yellow"))
        return
    names = scheme.spec.forwarding if scheme.spec else Forwarding()
    check_forwarding(scheme.program, parts["tables"], names, ecmp=False)
    check_needs(scheme, compiled)
    console.print(Text(f"{Path(scheme.program).name} can run", style="bold green"))


def _write_p4runtime(program: Path, p4info: list[Path], entries: list[Path], console: Console) -> None:
    # Protobuf loads slowly, so it is not imported for anything else.
    from marklab import p4runtime  # noqa: PLC0415

    described, warnings = engine.describe_control_plane(program)
    if warnings:
        console.print(Text(warnings.rstrip()), soft_wrap=True)
    for path in p4runtime.write(described, p4info, entries):
        console.print(Text.assemble((f"{'wrote':9}", "dim"), str(path)), soft_wrap=True)


def _signature(part: dict[str, Any]) -> str:
    if "actions" not in part:
        bits = f"bit<{part['bits']}> " if "bits" in part else ""
        return f"{part['name']}: {bits}x {part['size']}"
    keys = ", ".join(f"{key['name']}: {key['match']}" for key in part["keys"]) or "no key"
    actions = ", ".join(
        f"{action['name'].rpartition('.')[2]}({', '.join(param['name'] for param in action['params'])})"
        for action in part["actions"]
    )
    return f"{part['name']} [{keys}] {actions}"
