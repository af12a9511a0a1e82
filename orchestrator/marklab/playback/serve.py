# SPDX-License-Identifier: MIT OR Apache-2.0
"""A playback in a process of its own: `python -m marklab.playback.serve FOLDER SCHEME SEED`.

A line of JSON comes out for each thing that it has to say: {"now_ns", "finished"} while the run goes on, then {"ready"}
with the network and the time line. Then it answers a line of JSON on its standard input with a line, until that ends:
{"explain": {"at", "from_ns", "what"}}, {"test": {"at", "from_ns", "what", "node"}} and {"life": {"flow", "until_ns"}}.
What it cannot do, it says as {"error", "remedy"}.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from marklab.errors import BadInput, MarklabError
from marklab.execution.pictures import network
from marklab.fabrics import Cell
from marklab.fabrics.traced import find_port
from marklab.playback.again import packet_test
from marklab.playback.playback import Playback
from marklab.playback.questions import Wanted
from marklab.playback.stored import stored_cell

# Between two reports of progress.
_REPORT_S = 0.1


def main() -> None:
    """Play a cell, and answer questions about it."""
    folder, scheme, seed = sys.argv[1:]
    try:
        cell = stored_cell(Path(folder), scheme, int(seed))
        playback = Playback(cell, _Reports())
    except MarklabError as error:
        _say(_refusal(error))
        return
    of_cell = network(cell) | {"flows": _flows(cell)}
    _say({"ready": of_cell | {"end_ns": playback.end_ns, "timeline": playback.timeline.to_plain()}})
    for line in sys.stdin:
        try:
            _say({"answer": _answer(playback, json.loads(line))})
        except MarklabError as error:
            _say(_refusal(error))
    playback.end()


class _Reports:
    """Progress, a few times a second."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, now_ns: int, finished: int) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _REPORT_S
            _say({"now_ns": now_ns, "finished": finished})


def _flows(cell: Cell) -> dict[str, Any]:
    """Starts in ns, and the numbers of the hosts at both ends."""
    flows = cell.experiment.flow_lists[cell.seed]
    return {"start_ns": flows.start_ns.tolist(), "src": flows.src.tolist(), "dst": flows.dst.tolist()}


def _answer(playback: Playback, question: Mapping[str, Any]) -> Any:
    if (asked := question.get("explain")) is not None:
        at = find_port(playback.cell.experiment.network, asked["at"])
        return playback.explain(at, int(asked["from_ns"]), Wanted(asked["what"])).to_plain()
    if (asked := question.get("test")) is not None:
        at = find_port(playback.cell.experiment.network, asked["at"])
        found = playback.explain(at, int(asked["from_ns"]), Wanted(asked["what"]))
        return packet_test(playback.cell, found.way, str(asked["node"]))
    if (asked := question.get("life")) is not None:
        flows = playback.cell.experiment.flow_lists[playback.cell.seed]
        flow = int(asked["flow"])
        if not 0 <= flow < len(flows):
            raise BadInput(f"there is no flow {flow}", f"a number below {len(flows)}")
        return playback.life(flow, int(flows.start_ns[flow]), min(int(asked["until_ns"]), playback.end_ns))
    raise BadInput(f"unknown question {sorted(question)}", "explain, test or life")


def _refusal(error: MarklabError) -> dict[str, Any]:
    return {"error": str(error), "remedy": getattr(error, "remedy", None)}


def _say(plain: Any) -> None:
    sys.stdout.write(json.dumps(plain) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
