# SPDX-License-Identifier: MIT OR Apache-2.0
"""`crosscheck`: the same flows in two fabrics, side by side."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from marklab.comparison import side_by_side as library
from marklab.comparison.policy import Policy
from marklab.comparison.side_by_side import Comparison
from marklab.errors import BadInput, unknown
from marklab.execution.cells import default_workers
from marklab.execution.run import run_spec
from marklab.model import as_list
from marklab.paths import RESULTS
from marklab.report.comparison import print_comparison, to_json, to_junit, to_markdown
from marklab.results.archive import open_collection
from marklab.results.folders import new_folder
from marklab.results.summary import Summary
from marklab.spec.description import make_spec
from marklab.spec.settings import choose_fabric, chosen_schemes, merged_settings

# Metrics on which both fabrics must agree.
_METRICS = ("overall.mean", "short.mean")

# A jitter that hosts would not notice, and that is enough to make runs of the simulator differ.
_JITTER = "1us"
# net.ipv4.tcp_limit_output_bytes of Linux 6.18.
_LINUX_BUDGET = "4MB"

# Shared among the four rules, which makes a 95 % interval for each.
_FALSE_ALARMS = 0.1


def crosscheck(
    scheme: Annotated[
        list[str] | None, typer.Option("--scheme", "-s", metavar="SCHEME", help="As in `run`; repeatable.")
    ] = None,
    load: Annotated[str | None, typer.Option(metavar="0..1", help="Load of the bottleneck.")] = None,
    flows: Annotated[str, typer.Option(metavar="N", help="Flows per seed.")] = "500",
    seeds: Annotated[str, typer.Option(metavar="N", help="Number of seeds; each has other flows.")] = "1",
    runs: Annotated[
        int, typer.Option(metavar="N", min=1, help="Runs of the same flows, with starts up to 1 us later, drawn anew.")
    ] = 1,
    topology: Annotated[str | None, typer.Option(metavar="NAME", help="As in `run`.")] = None,
    spec: Annotated[Path | None, typer.Option(metavar="FILE.yaml", help="Settings of a run.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting of a spec; repeatable.")
    ] = None,
    dilation: Annotated[
        str | None, typer.Option(metavar="N|auto", help="Dilation of the real network. Default: auto.")
    ] = None,
    switch: Annotated[
        str | None, typer.Option(metavar="NAME", help="Switch of the real network: marklab, or bmv2.")
    ] = None,
    against: Annotated[
        str, typer.Option(metavar="NAME", help="BASE: sim, or marklab (the real network with the lab's switch).")
    ] = "sim",
    within: Annotated[float, typer.Option(metavar="PERCENT", min=0, help="Allowed difference of mean FCTs.")] = 15.0,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the folders of the results.", show_default=False)
    ] = RESULTS,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
) -> None:
    """Run the same flows in the simulator and on real hosts and switches.

    The exit code is 1 if mean FCTs differ by more than --within. BASE is the simulator, NEW the real network. With
    --switch bmv2 --against marklab both are real.
    """
    if against not in ("sim", "marklab"):
        raise unknown("fabric to check against:", against, ("sim", "marklab"))
    given = {"load": load, "flows": flows, "seeds": seeds, "topology": topology, "baseline": "none"}
    settings = merged_settings(spec, {key: value for key, value in given.items() if value is not None}, set_ or [])
    settings["schemes"] = chosen_schemes(scheme or as_list(settings.get("schemes", [])), [])
    if runs > 1:
        settings = _repeated(settings, runs)
    real = dict(settings)
    choose_fabric(real, "mininet", {"dilation": dilation, "switch": switch})
    other: dict[str, Any] = {key: value for key, value in settings.items() if key != "mininet"}
    if against == "marklab":
        other["mininet"] = real["mininet"] | {"switch": "marklab"}
    # BMv2 is slower, so its run chooses the dilation of both.
    found = run_spec(make_spec(real), out, default_workers())
    if against == "marklab":
        other["mininet"] |= {"dilation": _dilation(found.summary)}
    else:
        other = _like_linux(other, _dilation(found.summary))
    folder_a = run_spec(make_spec(other), out, default_workers()).folder
    rules = [f"{metric} {op} {sign}{within:g}%" for metric in _METRICS for op, sign in ((">", "+"), ("<", "-"))]
    policy = Policy(false_alarms=_FALSE_ALARMS).with_rules(rules)
    comparison = library.compare(open_collection(folder_a), open_collection(found.folder), policy)
    _tell(comparison, out / f"crosscheck-{folder_a.name}-{found.folder.name[-8:]}", as_json=as_json)
    if comparison.exit_code:
        raise typer.Exit(comparison.exit_code)


def _tell(comparison: Comparison, folder: Path, *, as_json: bool) -> None:
    with new_folder(folder) as staging:
        (staging / "comparison.md").write_text(to_markdown(comparison), encoding="utf-8")
        (staging / "junit.xml").write_text(to_junit(comparison), encoding="utf-8")
    if as_json:
        sys.stdout.write(json.dumps(to_json(comparison)) + "\n")
    else:
        print_comparison(comparison, Console(highlight=False))


def _repeated(settings: dict[str, Any], runs: int) -> dict[str, Any]:
    """Seeds that have the same flows, and differ by the jitter of their starts."""
    if int(settings.get("seeds", 1)) > 1:
        raise BadInput("runs of the same flows are those of one seed", "--runs or --seeds")
    first = settings.get("first_seed", 1)
    same = {} if "flow_list" in settings else {"flow_seed": first}
    return settings | {"seeds": runs, "start_jitter": _JITTER} | same


def _like_linux(settings: dict[str, Any], dilation: int) -> dict[str, Any]:
    """Simulated hosts as the real ones are: Linux's clock does not run slower with the network, and its bytes count.

    What the user has set is left alone.
    """
    transport = settings.get("transport", {})
    transport = {"control": transport} if isinstance(transport, str) else transport
    stack = transport.get("stack", {})
    stack = {"profile": stack} if isinstance(stack, str) else stack
    stack = {"clock_dilation": dilation} | stack
    return {"nic": {"budget": _LINUX_BUDGET}} | settings | {"transport": transport | {"stack": stack}}


def _dilation(summary: Summary) -> int:
    real_time = summary.main.seeds[0].real_time
    assert real_time is not None  # noqa: S101 - it ran on real hosts
    return real_time.dilation
