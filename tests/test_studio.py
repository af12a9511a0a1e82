# SPDX-License-Identifier: MIT OR Apache-2.0
"""The studio's server: who may ask, what it answers, and what it refuses."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Client, ConnectError, Response
from starlette.testclient import TestClient

from marklab.catalog.scheme import known_schemes
from marklab.cli.writing.studio import _state
from marklab.paths import PROGRAMS, REPOSITORY
from marklab.spec.options import RUN
from marklab.studio import runs
from marklab.studio.app import application
from marklab.studio.guard import OwnNames
from marklab.studio.serve import Listening
from processes import children_of

TOKEN = "the token"  # noqa: S105 - of these tests
HOST = "127.0.0.1:8000"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - nothing listens there
TCN = (PROGRAMS / "tcn.p4").read_text()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    app = application(TOKEN, OwnNames("127.0.0.1", 8000), tmp_path / "results")
    with TestClient(app, base_url=f"http://{HOST}", headers={"authorization": f"Bearer {TOKEN}"}) as opened:
        yield opened


def wait(client: TestClient, number: int, most_s: float = 60) -> dict[str, Any]:
    until = time.monotonic() + most_s
    while time.monotonic() < until:
        run: dict[str, Any] = client.get(f"/api/runs/{number}").json()
        if run["state"] != "running":
            return run
        time.sleep(0.05)
    pytest.fail("the run did not end")


def asked(text: str = TCN, **settings: object) -> dict[str, Any]:
    """A run of TCN's program, or of another text in its place."""
    few = {"flows": 100, "load": 0.8, "seeds": 1} | settings
    return {"name": "tcn", "text": text, "settings": {name: str(value) for name, value in few.items()}}


def refused(response: Response) -> str:
    assert response.status_code == 400
    return str(response.json()["error"])


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/programs", {}, 200),
        ("/api/programs", {"authorization": ""}, 401),
        ("/api/programs", {"authorization": "Bearer another"}, 401),
        ("/api/none", {"authorization": ""}, 401),
        ("/api/none", {}, 404),
        ("/", {"authorization": ""}, 200),
        ("/", {"host": "evil.example"}, 403),
        ("/", {"host": "127.0.0.1:8001"}, 403),
        ("/api/programs", {"origin": f"http://{HOST}"}, 200),
        ("/api/programs", {"origin": "http://evil.example"}, 403),
        ("/api/programs", {"origin": "null"}, 403),
    ],
)
def test_who_may_ask(client: TestClient, path: str, headers: dict[str, str], status: int) -> None:
    response = client.get(path, headers=headers)
    assert response.status_code == status
    assert "default-src 'none'" in response.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/../app.py", "/..%2fapp.py", "/%2e%2e/app.py", "//etc/passwd", "/page/../../app.py"])
def test_no_file_outside_the_page_is_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_all_schemes_can_be_opened(client: TestClient) -> None:
    listed = client.get("/api/programs").json()
    assert [each["name"] for each in listed] == list(known_schemes())
    for name, path in known_schemes().items():
        assert client.get(f"/api/programs/{name}").json()["text"] == path.read_text()
    assert "unknown scheme `nome`" in refused(client.get("/api/programs/nome"))
    assert client.get("/api/programs/..%2F..%2Finclude%2Fverdict").status_code in (400, 404)


def test_the_compilers_messages(client: TestClient) -> None:
    assert client.post("/api/problems", json={"name": "tcn", "text": TCN}).json() == []
    broken = TCN.replace("q.sojourn_us", "q.sojourn")
    (problem,) = client.post("/api/problems", json={"name": "tcn", "text": broken}).json()
    assert (problem["id"], problem["place"]["line"], problem["place"]["file"]) == ("E0310", 27, None)
    assert problem["help"] == "did you mean `sojourn_us`?"


def test_completion_and_hover(client: TestClient) -> None:
    at = TCN.index("q.sojourn_us") + 2
    found = client.post("/api/candidates", json={"name": "tcn", "text": TCN, "offset": at}).json()
    depth = next(each for each in found if each["name"] == "enq_qdepth_pkts")
    assert depth["comment"] == "packets that were waiting when this one came, without it"
    at_place = {"name": "tcn", "text": TCN, "line": 27, "column": 24}
    assert client.post("/api/hover", json=at_place).json()["text"] == "bit<32> sojourn_us"
    assert client.post("/api/hover", json=at_place | {"line": 1}).json() is None


@pytest.mark.parametrize("path", ["/etc/hostname", "../../README.md", "include/../../../pyproject.toml"])
def test_a_program_includes_no_file_outside_the_schemes(client: TestClient, path: str) -> None:
    text = f'#include "{path}"\n' + TCN
    (problem, *_) = client.post("/api/problems", json={"name": "tcn", "text": text}).json()
    assert "outside of the folders" in problem["text"]
    run = asked(text, flows=10)
    assert "does not compile" in refused(client.post("/api/runs", json=run))


@pytest.mark.parametrize(
    ("path", "asked", "says"),
    [
        ("problems", b"{", "JSON"),
        ("problems", b"[]", "object"),
        ("problems", b'{"name": "tcn"}', "text"),
        ("problems", b'{"name": "../tcn", "text": ""}', "unknown scheme"),
        ("problems", b'{"name": "tcn", "text": "' + b"a" * (1 << 20) + b'a"}', "1048576"),
        ("hover", b'{"name": "tcn", "text": "", "line": 0, "column": 1}', "line"),
        ("candidates", b'{"name": "tcn", "text": "", "offset": -1}', "offset"),
        ("settings", b'{"name": "tcn", "settings": {"flows": "0"}}', "flows"),
        ("settings", b'{"name": "tcn", "settings": {"load": "9"}}', "load"),
        ("settings", b'{"name": "tcn", "settings": {"weather": "9"}}', "unknown setting `weather`"),
        ("settings", b'{"name": "tcn", "settings": {"topology": "/etc/passwd.yaml"}}', "names a file"),
        ("settings", b'{"name": "tcn", "settings": {"workload": "own.csv"}}', "names a file"),
        ("settings", b'{"name": "tcn", "settings": {"baseline": "../x.p4"}}', "names a file"),
        ("settings", b'{"name": "tcn", "settings": {"pcap": "s0:7"}}', "unknown setting `pcap`"),
        ("settings", b'{"name": "tcn", "params": {"t": "5 stones"}}', "5 stones"),
        ("settings", b'{"name": "tcn", "params": {"u": "5us"}}', "unknown parameter of tcn: `u`"),
        ("settings", b'{"name": "nome"}', "nome"),
        ("compare", b'{"base": "a", "new": "../b"}', "there is no run"),
        ("look", b'{"folder": "../..", "scheme": "tcn", "seed": 1}', "there is no run"),
    ],
)
def test_what_it_cannot_answer_is_refused(client: TestClient, path: str, asked: bytes, says: str) -> None:
    assert says in refused(client.post(f"/api/{path}", content=asked))


def test_a_changed_program_runs_beside_the_original(client: TestClient, tmp_path: Path) -> None:
    """On the same flows; nothing is written but the result."""
    before = {path: path.stat().st_mtime_ns for path in PROGRAMS.parent.rglob("*")}
    changed = TCN.replace("params.apply();", "params.apply();\n        t = t + 100;")
    run = asked(changed)
    found = wait(client, client.post("/api/runs", json=run).json()["number"])
    assert (found["state"], found["error"]) == ("done", "")
    assert {"tcn", "tcn-edited"} <= set(found["result"]["schemes"])
    assert " run --scheme tcn --scheme " in found["command"]
    assert len(list((tmp_path / "results").iterdir())) == 1
    assert {path: path.stat().st_mtime_ns for path in PROGRAMS.parent.rglob("*")} == before
    assert "there is no run 7" in refused(client.get("/api/runs/7"))


def test_a_program_is_saved_where_the_studio_was_started(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    changed = TCN + "// mine\n"
    saved = client.post("/api/save", json={"name": "tcn", "text": changed, "as": "mine"}).json()
    assert saved["path"] == str(tmp_path / "mine.p4")
    assert saved["command"].endswith(" --scheme mine.p4")
    assert (tmp_path / "mine.p4").read_text() == changed
    assert (tmp_path / "mine.yaml").read_text() == (PROGRAMS / "tcn.yaml").read_text()
    again = {"name": "tcn", "text": TCN, "as": "mine"}
    assert "exists already" in refused(client.post("/api/save", json=again))
    assert (tmp_path / "mine.p4").read_text() == changed
    for name in ("../mine", "/etc/mine", "a/b", "", ".hidden", "mine.p4"):
        refused(client.post("/api/save", json=again | {"as": name}))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.p4", "mine.yaml"]


def test_a_link_is_read_or_refused(cli: Any) -> None:
    wrong = cli("studio", "--no-open", "http://127.0.0.1:1/#token=x")
    assert (wrong.code, "is no link of the studio" in wrong.err) == (2, True)
    assert _state("http://127.0.0.1:1/#state=abc") == "abc"


def test_the_form_has_the_options_of_the_command_line(client: TestClient) -> None:
    listed = client.get("/api/settings").json()
    names = [each["name"] for each in listed]
    assert names[:6] == ["topology", "load", "workload", "flows", "seeds", "rtt"]
    assert {option.name for option in RUN} - set(names) == {"controller", "flow_list", "pcap"}
    question = {"name": "tcn", "settings": {"rtt": "100us", "trace_queue": "on", "probe": "h0:h7,every=1ms"}}
    (found,) = client.post("/api/settings", json=question).json()["parameters"]
    assert (found["name"], found["value"]) == ("t", "100 us = 125 KB = 83.33 packets")


def test_runs_are_listed_and_compared(client: TestClient, tmp_path: Path) -> None:
    assert client.get("/api/history").json() == []
    for load in (0.5, 0.6):
        assert wait(client, client.post("/api/runs", json=asked(load=load)).json()["number"])["state"] == "done"
    (tmp_path / "results" / "broken").mkdir()
    (tmp_path / "results" / "broken" / "summary.json").write_text("{")
    listed = client.get("/api/history").json()
    assert [each["load"] for each in listed] == [0.6, 0.5]
    question = {"base": listed[1]["folder"], "new": listed[0]["folder"]}
    found = client.post("/api/compare", json=question).json()
    assert {"short.p99", "overall.mean"} <= {each["metric"] for each in found["differences"]}


def test_pictures_come_while_it_runs(client: TestClient) -> None:
    """More than a few of them, and none after the end."""
    run = asked(flows=1000)
    number = client.post("/api/runs", json=run).json()["number"]
    times = set()
    until = time.monotonic() + 60
    while (found := client.get(f"/api/runs/{number}").json())["state"] == "running":
        assert time.monotonic() < until
        if found["picture"] is not None:
            times.add(found["picture"]["now_ns"])
        time.sleep(0.02)
    assert len(times) >= 3
    network = client.get(f"/api/runs/{number}/network").json()
    assert len(network["lines"]) == len(found["picture"]["packets"]) == 16
    assert (network["scheme"], network["seed"]) == ("tcn", 1)


def looked(client: TestClient, folder: str, scheme: str) -> dict[str, Any]:
    question = {"folder": folder, "scheme": scheme, "seed": 1}
    assert client.post("/api/look", json=question).status_code == 200
    until = time.monotonic() + 60
    while not (state := client.get("/api/look").json())["ready"]:
        assert (state["error"], time.monotonic() < until) == ("", True)
        time.sleep(0.05)
    ready: dict[str, Any] = client.get("/api/look/ready").json()
    return ready


def test_a_look_at_a_run_explains_its_packets(client: TestClient) -> None:
    assert "no run is being looked at" in refused(client.get("/api/look"))
    changed = TCN.replace("params.apply();", "params.apply();\n        t = t + 10;")
    run = asked(changed, flows=300)
    number = client.post("/api/runs", json=run).json()["number"]
    found = wait(client, number)
    assert found["state"] == "done"
    folder = Path(found["result"]["folder"]).name
    for scheme in ("tcn-edited", "tcn"):
        ready = looked(client, folder, scheme)
        marked = ready["timeline"]["marked"][-1]
        line = ready["lines"][marked.index(max(marked))]
        at = f"{ready['nodes'][line['from'][0]]['name']}:{line['from'][1]}"
        packet = client.post("/api/look/packet", json={"at": at, "from_ns": 1, "what": "mark"}).json()
        conditions = packet["hops"][0]["decision"]["conditions"]
        assert {Path(each["file"]).name for each in conditions} <= {f"{scheme}.p4", "threshold.p4"}
        flow = {"flow": packet["flow"], "until_ns": ready["end_ns"]}
        assert len(client.post("/api/look/life", json=flow).json()["sender"]) > 100
        assert "unknown node" in refused(
            client.post("/api/look/packet", json={"at": "x", "from_ns": 1, "what": "mark"})
        )
        wrong = client.post("/api/look/packet", json={"at": at, "from_ns": 1, "what": "joy"})
        assert "joy" in refused(wrong) or "what" in refused(wrong)
    unknown = {"folder": folder, "scheme": "codel", "seed": 1}
    assert client.post("/api/look", json=unknown).status_code == 200
    until = time.monotonic() + 60
    while not (state := client.get("/api/look").json())["error"]:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert "unknown scheme of the run `codel`" in state["error"]


def test_one_run_at_a_time_which_can_be_cancelled(client: TestClient, tmp_path: Path) -> None:
    run = asked(flows=200_000)
    number = client.post("/api/runs", json=run).json()["number"]
    assert "another run has not ended" in refused(client.post("/api/runs", json=run))
    ended = client.delete(f"/api/runs/{number}").json()
    assert (ended["state"], ended["error"]) == ("cancelled", "")
    assert client.get(f"/api/runs/{number}").json()["state"] == "cancelled"
    assert not (tmp_path / "results").exists() or not list((tmp_path / "results").iterdir())
    few = client.post("/api/runs", json=asked(flows=10)).json()["number"]
    assert wait(client, few)["state"] == "done"


# What a process does with its interrupts: it loses the first one, or all of them.
LOSES_ONE = "lambda *_: signal.signal(signal.SIGINT, signal.SIG_DFL)"


@pytest.mark.parametrize(
    ("handler", "ends_by"),
    [("signal.SIG_DFL", signal.SIGINT), (LOSES_ONE, signal.SIGINT), ("signal.SIG_IGN", signal.SIGKILL)],
)
def test_a_lost_interrupt_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, handler: str, ends_by: signal.Signals
) -> None:
    monkeypatch.setattr(runs, "_TO_END_S", 0.3)
    ready = tmp_path / "ready"
    text = f"import signal, time; signal.signal(signal.SIGINT, {handler}); open({str(ready)!r}, 'w'); time.sleep(60)"

    async def cancelled() -> tuple[runs.State, int | None]:
        ours, theirs = os.pipe()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", text), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        os.close(theirs)
        run = runs.Run("run", process, ours, lambda: None)
        while not ready.exists():
            await asyncio.sleep(0.01)
        await run.cancel()
        return run.state, process.returncode

    assert asyncio.run(cancelled()) == (runs.State.CANCELLED, -ends_by)


def test_a_run_that_takes_too_long_is_ended(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_LONGEST_S", 1)
    number = client.post("/api/runs", json=asked(flows=10_000_000, seeds=1000)).json()["number"]
    run = wait(client, number)
    assert (run["state"], "took more than 1 s; run its command in a terminal" in run["error"]) == ("failed", True)


def test_a_program_that_never_lets_go_of_a_packet_ends(client: TestClient) -> None:
    line = "above.apply(q.sojourn_us, t, CAUSE_SOJOURN, decision, cause);"
    endless = TCN.replace(line, f"{line} recirculate_preserving_field_list(0);")
    assert endless != TCN
    run = wait(client, client.post("/api/runs", json=asked(endless, flows=5)).json()["number"])
    assert run["state"] == "done"
    assert run["result"]["schemes"]["tcn-edited"]["unfinished"] == 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_ends_leaves_no_process(tmp_path: Path, number: int) -> None:
    command = [sys.executable, "orchestrator.py", "studio", "--no-open", "--out", str(tmp_path)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        said = re.search(r"(http://127\.0\.0\.1:\d+)/#token=(\S+)", server.stdout.readline())
        assert said is not None
        # Loaded by the thread that stays: a thread that ends would leave an allocator that crashes.
        assert "_engine.abi3.so" in Path(f"/proc/{server.pid}/maps").read_text()
        with Client(base_url=said[1], headers={"authorization": f"Bearer {said[2]}"}) as client:
            run = asked(flows=200_000)
            for _ in range(50):
                try:
                    client.post("/api/runs", json=run)
                    break
                except ConnectError:
                    time.sleep(0.1)
        children = children_of(server.pid)
        server.send_signal(number)
        server.wait(20)
    (child,) = children
    until = time.monotonic() + 20
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < until, "the run goes on"
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("listens", "name", "own"),
    [
        ("127.0.0.1", "127.0.0.1:8000", True),
        ("127.0.0.1", "localhost:8000", True),
        ("127.0.0.1", "127.0.0.1:8001", False),
        ("192.0.2.7", "192.0.2.7:8000", True),
        ("192.0.2.7", "localhost:8000", False),
        ("192.0.2.7", "192.0.2.8:8000", False),
        (EVERYWHERE, "192.0.2.7:8000", True),
        (EVERYWHERE, "localhost:9000", True),
        (EVERYWHERE, "evil.example:8000", False),
        (EVERYWHERE, "192.0.2.7.evil.example:8000", False),
        (EVERYWHERE, "", False),
        (EVERYWHERE, None, False),
    ],
)
def test_a_server_knows_its_names(listens: str, name: str | None, own: bool) -> None:
    assert (name in OwnNames(listens, 8000)) == own


def test_a_server_that_others_reach_is_warned_about() -> None:
    assert Listening().warning is None
    assert Listening("127.0.0.2").warning is None
    assert "runs programs here, with your rights" in str(Listening(EVERYWHERE).warning)


def test_an_address_of_another_machine_is_refused(cli: Any) -> None:
    refusal = cli("studio", "--no-open", "--host", "192.0.2.7")
    assert (refusal.code, "cannot serve at 192.0.2.7" in refusal.err) == (2, True)
    assert "warning" in refusal.err


def test_a_page_starts_no_real_hosts_unless_it_may(client: TestClient, tmp_path: Path) -> None:
    for name, value in {"fabric": "mininet", "dilation": "100", "switch": "bmv2"}.items():
        for path in ("/api/runs", "/api/settings"):
            question = asked(**{name: value})
            question = question if path == "/api/runs" else {"name": "tcn", "settings": question["settings"]}
            assert "starts no real hosts" in refused(client.post(path, json=question))
    assert "fabric" not in {field["name"] for field in client.get("/api/settings").json()}
    app = application(TOKEN, OwnNames("127.0.0.1", 8000), tmp_path / "lab", lab=True)
    with TestClient(app, base_url=f"http://{HOST}", headers={"authorization": f"Bearer {TOKEN}"}) as lab:
        fields = {field["name"] for field in lab.get("/api/settings").json()}
        assert {"fabric", "dilation", "switch"} <= fields
        settings = {"flows": "10", "fabric": "mininet", "dilation": "100"}
        assert "parameters" in lab.post("/api/settings", json={"name": "tcn", "settings": settings}).json()
        wrong = {"flows": "10", "dilation": "100"}
        answer = lab.post("/api/settings", json={"name": "tcn", "settings": wrong})
        assert "is an option of the fabric mininet" in refused(answer)


@pytest.mark.real_time
@pytest.mark.needs("privileges", "namespaces", "network tools", "BPF tools", "type information", "Mininet")
def test_a_page_that_may_starts_real_hosts(tmp_path: Path) -> None:
    app = application(TOKEN, OwnNames("127.0.0.1", 8000), tmp_path / "lab", lab=True)
    with TestClient(app, base_url=f"http://{HOST}", headers={"authorization": f"Bearer {TOKEN}"}) as lab:
        settings = {"flows": 20, "topology": "incast:senders=2", "fabric": "mininet", "dilation": "auto"}
        # On a busy machine the lab chooses a larger dilation, and begins again.
        run = wait(lab, lab.post("/api/runs", json=asked(**settings)).json()["number"], 500)
    assert (run["state"], run["error"]) == ("done", "")
    assert "--fabric mininet" in run["command"]


def test_a_packet_is_sent_again_with_the_program_of_the_page(client: TestClient, tmp_path: Path) -> None:
    test = (REPOSITORY / "tests" / "schemes" / "stf" / "tcn").glob("*.stf")
    text = next(iter(sorted(test))).read_text()
    outcome = client.post("/api/test", json={"name": "tcn", "text": TCN, "test": text}).json()
    assert outcome["verdict"] == "passed"
    assert any(packet["decision"] for packet in outcome["packets"])
    never = TCN.replace("above.apply(q.sojourn_us", "above.apply(0")
    changed = client.post("/api/test", json={"name": "tcn", "text": never, "test": text}).json()
    assert (changed["verdict"], "another packet came out" in changed["message"]) == ("failed", True)
    broken = client.post("/api/test", json={"name": "tcn", "text": "control", "test": text})
    assert "does not compile" in refused(broken)
    nonsense = client.post("/api/test", json={"name": "tcn", "text": TCN, "test": "pakcet 1 00"})
    assert "is not a statement" in refused(nonsense)


def test_a_packet_test_is_saved_where_the_studio_was_started(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    question = {"name": "tcn", "text": TCN, "test": "packet 0 00\n", "as": "mine"}
    saved = client.post("/api/test/save", json=question).json()
    assert Path(saved["path"]).read_text() == "packet 0 00\n"
    assert saved["command"].endswith("v1model/tcn.p4 mine.stf")
    assert "exists already" in refused(client.post("/api/test/save", json=question))
    assert client.post("/api/test/save", json=question | {"as": "../mine"}).status_code == 400


def test_a_taken_port_is_named(cli: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refusal = cli("studio", "--no-open", "--port", str(port))
    assert (refusal.code, f"cannot serve at port {port}" in refusal.err) == (2, True)
