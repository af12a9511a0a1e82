"""`run`: one experiment, from options or a file to a table and a folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console

from orchestrator.catalog.choice import SchemeChoice, parse_choice
from orchestrator.catalog.scheme import find_scheme, known_schemes
from orchestrator.errors import BadInput, unknown
from orchestrator.experiment import Experiment, prepare
from orchestrator.fabrics import Cell, Sim
from orchestrator.metrics import summarise
from orchestrator.progress import progress_bar
from orchestrator.report import render
from orchestrator.results import DEFAULT_FOLDER, new_folder, write_run
from orchestrator.runs import default_workers, run_cells, total_flows
from orchestrator.spec import Spec, make_spec, read_spec
from orchestrator.summary import Summary
from orchestrator.units import parse_setting
from orchestrator.versions import versions

_SCHEME = "Scheme: NAME, NAME:PRESET, NAME:param=value,... or a P4 program; may be repeated."
_TRACE_EVERY = "10us"


def run(
    scheme: Annotated[list[str] | None, typer.Option("--scheme", "-s", help=_SCHEME)] = None,
    load: Annotated[float | None, typer.Option(help="Load of the bottleneck, above 0 to 1.  [default: 0.5]")] = None,
    topology: Annotated[
        str | None,
        typer.Option(help="incast[:senders=N], leaf-spine[:leaves=N,spines=N,hosts=N] or FILE.yaml."),
    ] = None,
    workload: Annotated[
        str | None, typer.Option(help="web_search, data_mining, cache, hadoop, fb_hadoop or FILE.csv.")
    ] = None,
    transport: Annotated[str | None, typer.Option(help="dctcp, ecn-star or reno.")] = None,
    rate: Annotated[str | None, typer.Option(help="Rate of the links, such as 10G.")] = None,
    rtt: Annotated[
        str | None,
        typer.Option(help="Base RTTs: 80us, 70us..210us[,mean=85us,p90=200us] or classes:1us,20us,..."),
    ] = None,
    queue: Annotated[str | None, typer.Option(help="Limit of each switch queue: 600 (packets) or 900KB.")] = None,
    flows: Annotated[int | None, typer.Option(help="Flows per seed.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Seeds, each with flows of its own.")] = None,
    baseline: Annotated[str | None, typer.Option(help="Scheme to compare with, or none.")] = None,
    param: Annotated[
        list[str] | None, typer.Option(help="Parameter of the scheme, name=value; may be repeated.")
    ] = None,
    spec: Annotated[Path | None, typer.Option(help="Settings from a YAML file; options go before it.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any setting of a spec file, such as transport.min_rto=5ms."),
    ] = None,
    flow_list: Annotated[
        Path | None, typer.Option(help="Replay FILE.csv (start_ns,src,dst,size_bytes) instead of a workload.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder that gets the result's folder.")] = DEFAULT_FOLDER,
    name: Annotated[str | None, typer.Option(help="Name of the result's folder.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as one JSON object instead of the table.")
    ] = False,
    trace_queue: Annotated[bool, typer.Option("--trace-queue", help="Record the bottleneck's queues.")] = False,
    pcap: Annotated[
        str | None,
        typer.Option(help="Capture a port, SWITCH:PORT or HOST, in the first cell (whole frames)."),
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Cells at a time.  [default: cores]")] = None,
) -> None:
    """Run a scheme and its baseline on the same flows, and report flow completion times."""
    given = {
        "load": load, "topology": topology, "workload": workload, "transport": transport, "rate": rate, "rtt": rtt,
        "queue": queue, "flows": flows, "seeds": seeds, "baseline": baseline, "flow_list": flow_list, "name": name,
        "pcap": pcap, "trace_queue": _TRACE_EVERY if trace_queue else None,
    }  # fmt: skip
    settings = _settings(spec, {key: value for key, value in given.items() if value is not None}, set_ or [])
    settings["schemes"] = _schemes(scheme or settings.get("schemes", []), param or [])
    summary, folder = _run(make_spec(settings), out, jobs or default_workers())
    if as_json:
        sys.stdout.write(json.dumps(summary.to_json(), ensure_ascii=False) + "\n")
    else:
        console = Console(highlight=False)
        render(summary, console)
        console.print(f"[dim]{folder}[/dim]", soft_wrap=True)


def _settings(spec: Path | None, given: dict[str, Any], more: list[str]) -> dict[str, Any]:
    settings = read_spec(spec) if spec is not None else {}
    if isinstance(given.get("transport"), str) and isinstance(settings.get("transport"), dict):
        given["transport"] = settings["transport"] | {"control": given["transport"]}
    settings |= given
    for text in more:
        _put(settings, *parse_setting(text))
    if settings.get("flow_list") is not None:
        _only_flow_list(given)
        settings["flow_list"] = str(settings["flow_list"])
        # The flows are the same for every seed; more of them would tell programs without random numbers nothing.
        settings.setdefault("seeds", 1)
    return settings


def _only_flow_list(given: dict[str, Any]) -> None:
    for key in ("workload", "load", "flows"):
        if key in given:
            raise BadInput(f"--{key} and --flow-list contradict each other: a flow list is replayed as it is")


def _put(settings: dict[str, Any], key: str, text: str) -> None:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadInput(f"--set {key}: `{text}` is not YAML") from error
    *outer, last = key.split(".")
    for part in outer:
        inner = settings.get(part)
        # A short form such as `transport: dctcp` becomes the mapping that it stands for.
        shorthand = {"transport": "control", "connections": "mode"}.get(part)
        if isinstance(inner, str) and shorthand:
            inner = {shorthand: inner}
        settings[part] = dict(inner) if isinstance(inner, dict) else {}
        settings = settings[part]
    settings[last] = value


def _schemes(chosen: list[str], params: list[str]) -> list[SchemeChoice]:
    if not chosen:
        raise BadInput("no scheme was given", f"--scheme NAME, which is {', '.join(known_schemes())} or a P4 program")
    choices: list[SchemeChoice] = [parse_choice(text) for text in chosen]
    for name, value in map(parse_setting, params):
        has = [_has(choice, name) for choice in choices]
        if len(choices) > 1 and not any(has):
            raise unknown("parameter", name, _parameters(choices))
        # With one scheme an unknown name is for the scheme itself to explain.
        choices = [
            choice.with_params({name: value}) if one_has or len(choices) == 1 else choice
            for choice, one_has in zip(choices, has, strict=True)
        ]
    return choices


def _has(choice: SchemeChoice, name: str) -> bool:
    return name in _parameters([choice])


def _parameters(choices: list[SchemeChoice]) -> set[str]:
    specs = [find_scheme(choice).spec for choice in choices]
    return {name for spec in specs if spec for name in spec.parameters}


def _run(spec: Spec, out: Path, workers: int) -> tuple[Summary, Path]:
    fabric = Sim()
    experiment = prepare(spec)
    fabric.check(experiment)
    folder = out / f"{spec.title()}-{experiment.digest()[:8]}"
    with new_folder(folder) as staging:
        cells = _cells(experiment, staging)
        with progress_bar("running", total_flows(cells)) as on_progress:
            observations = run_cells(fabric, cells, workers, on_progress)
        summary = summarise(experiment, observations, versions(experiment))
        write_run(staging, experiment, observations, summary)
    return summary, folder


def _cells(experiment: Experiment, captures: Path) -> list[Cell]:
    """All schemes on the flows of a seed, then on those of the next. Only the first cell is captured: pcap is large."""
    cells = [Cell(experiment, scheme, seed) for seed in experiment.spec.seed_numbers for scheme in experiment.schemes]
    first = cells[0]
    return [Cell(first.experiment, first.scheme, first.seed, captures), *cells[1:]]
