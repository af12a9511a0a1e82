# SPDX-License-Identifier: MIT OR Apache-2.0
from pathlib import Path

import pytest
import yaml

from marklab.errors import BadInput
from marklab.spec.description import Spec, make_spec, read_spec


def test_the_defaults_are_the_papers_testbed() -> None:
    spec = make_spec({"schemes": ["ecn-sharp"]})
    plain = spec.to_plain()
    assert plain["topology"] == {"builder": "incast", "senders": 7, "marking_nics": False}
    assert (plain["rate"], plain["queue"], plain["baseline"]) == ("10G", "600 packets", "dctcp-red:tail")
    assert plain["rtt"] == "70us..210us,mean=85us,p90=200us"
    assert spec.transport.min_rto_ns == 10_000_000


EVERYTHING = {
    "name": "all-of-it",
    "schemes": ["ecn-sharp:pst_target=40us", "tcn"],
    "baseline": "none",
    "topology": {"hosts": ["a", "b"], "switches": ["s"], "links": [["a", "s"], {"ends": ["b", "s"], "delay": "5us"}]},
    "rate": "40G",
    "rtt": "classes:1us,20us,base=30us",
    "queue": "900KB",
    "lambda": 0.17,
    "workload": {"name": "own", "points": [[0, 0], [1000, 1]]},
    "load": 0.3,
    "flows": 10,
    "queries": {"senders": 3, "at": ["1ms"]},
    "transport": {"control": "reno", "min_rto": "5ms"},
    "connections": "new",
    "trace_queue": "10us",
    "trace_flows": "100us",
    "pcap": "s:1",
}


def test_a_written_description_is_read_back() -> None:
    tree = {"schemes": ["tcn"], "topology": "fat-tree:tiers=4,pattern=pod2", "rtt": "116us,host=80us"}
    for data in ({"schemes": ["ecn-sharp"]}, EVERYTHING, tree):
        spec = make_spec(data)
        again = make_spec(yaml.safe_load(spec.to_yaml()))
        assert again == spec
        assert again.digest({}) == spec.digest({})


def test_the_digest_covers_what_decides_the_result_and_nothing_else() -> None:
    spec = make_spec(EVERYTHING)
    assert make_spec(EVERYTHING | {"name": "other"}).digest({}) == spec.digest({})
    assert spec.digest({"tcn": "1"}) != spec.digest({"tcn": "2"})
    for change in ({"load": 0.4}, {"schemes": ["tcn"]}, {"seeds": 9}, {"queue": "901KB"}, {"lambda": 1}):
        assert make_spec(EVERYTHING | change).digest({}) != spec.digest({}), change


def test_the_digest_is_the_same_however_numbers_are_written() -> None:
    one = make_spec({"schemes": ["tcn"], "rate": "10G", "rtt": "70us..210us", "queue": 600})
    other = make_spec({"schemes": ["tcn"], "rate": 10**10, "rtt": "0.07ms..210us,mean=85us", "queue": "600 packets"})
    assert one.digest({}) == other.digest({})


def test_paths_in_a_file_are_relative_to_it(tmp_path: Path) -> None:
    (tmp_path / "sizes.csv").write_text("size_bytes,cdf\n0,0\n10,1\n")
    (tmp_path / "mine.p4").write_text("")
    (tmp_path / "spec.yaml").write_text("schemes: [mine.p4, tcn]\nworkload: sizes.csv\n")
    spec = make_spec(read_spec(tmp_path / "spec.yaml"))
    assert spec.workload.name == "sizes"
    assert spec.schemes[0].program == str(tmp_path / "mine.p4")
    assert spec.schemes[1].program == "tcn"


def test_a_flow_list_that_changed_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("start_ns,src,dst,size_bytes\n0,0,7,1\n")
    plain = make_spec({"schemes": ["tcn"], "flow_list": str(path)}).to_plain()
    path.write_text("start_ns,src,dst,size_bytes\n0,0,7,2\n")
    with pytest.raises(BadInput, match="has changed since this description was written"):
        make_spec(plain)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"load": 0}, "load: `0` should be greater than 0"),
        ({"load": 1.01}, "load: `1.01` should be less than or equal to 1"),
        ({"schemes": []}, "schemes"),
        ({"schemes": ["tcn", "tcn"]}, "two schemes of this run are called `tcn`"),
        ({"rate": 0}, "rate"),
        ({"flows": -1}, "flows"),
        ({"seeds": 0}, "seeds"),
        ({"laod": 0.5}, "unknown key `laod`"),
        ({"transport": {"min_rot": "5ms"}}, "unknown key `transport.min_rot`"),
        ({"transport": "bbr"}, "transport.control"),
        ({"queue": "none"}, "queue"),
        ({"queue": {"packets": 3, "bytes": 4}}, "either in packets or in bytes"),
        ({"queries": {"senders": 3}}, "either `at` or `load` is needed"),
        ({"queries": {"senders": 3, "load": 0.1, "smallest": "1MB"}}, "smallest query is larger"),
        ({"queries": "many:at=1ms"}, "queries.senders: `many` is not a whole number"),
        ({"queries": "3:1ms"}, "`1ms` is not a setting"),
        ({"rtt": "fast"}, "rtt"),
        ({"connections": {"mode": "new", "busy": "wait"}}, "only persistent connections are `busy`"),
        ({"connections": {"busy": "wait", "per_pair": 0}, "rtt": "80us"}, "none of 0 connections"),
        ({"connections": {"busy": "wait"}}, "round-trip times that vary cannot be combined with `busy`"),
        ({"connections": {"busy": "wait"}, "rtt": "80us", "services": "2"}, "services cannot be combined with `busy`"),
        ({"connections": {"busy": "wait"}, "rtt": "80us", "transport": "dcqcn"}, "--transport dcqcn cannot"),
        ({"workload": "web"}, "unknown workload `web`"),
        ({"name": "../evil"}, "name"),
    ],
)
def test_wrong_descriptions_are_refused(change: dict[str, object], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        make_spec({"schemes": ["tcn"], **change})


@pytest.mark.parametrize(("load", "of_queries"), [(0.9, 0.1), (0.7, 0.3), (1.0, None), (0.3, 0.7), (0.05, 0.95)])
def test_loads_may_add_up_to_all_that_there_is(load: float, of_queries: float | None) -> None:
    queries = {"senders": 3} | ({"at": ["1ms"]} if of_queries is None else {"load": of_queries})
    assert make_spec({"schemes": "tcn", "load": load, "queries": queries}).offered_load == 1


@pytest.mark.parametrize(("load", "of_queries"), [(0.9, 0.9), (0.9, 0.1001), (0.3001, 0.7)])
def test_loads_that_add_up_to_more_are_refused(load: float, of_queries: float) -> None:
    settings = {"schemes": "tcn", "load": load, "queries": {"senders": 3, "load": of_queries}}
    with pytest.raises(BadInput, match=f"a load of {load:g} and queries of {of_queries:g} are .* together") as refused:
        make_spec(settings)
    assert "--until" in (refused.value.remedy or "")
    # A run with an end may have a load above capacity.
    assert make_spec(settings | {"until": "1s"}).offered_load > 1


@pytest.mark.parametrize(
    ("text", "mapping"),
    [
        ("40:at=10ms/60ms", {"senders": 40, "at": ["10ms", "60ms"]}),
        ("7:load=0.05,largest=20KB", {"senders": 7, "load": 0.05, "largest": "20KB"}),
    ],
)
def test_queries_have_a_short_form(text: str, mapping: dict[str, object]) -> None:
    assert make_spec({"schemes": "tcn", "queries": text}) == make_spec({"schemes": "tcn", "queries": mapping})


def test_a_load_that_nobody_brings_does_not_count() -> None:
    settings = {"schemes": "tcn", "flows": 0, "load": 0.9, "queries": {"senders": 3, "load": 0.9}}
    assert make_spec(settings).offered_load == 0.9


@pytest.mark.parametrize("text", ["- a\n- b\n", "a: [", "\xff"])
def test_files_that_hold_no_settings_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(BadInput, match=r"spec\.yaml"):
        read_spec(path)


ODD = [None, True, 3, -1, 1.5, float("nan"), 10**30, "", "x", "1e999999999", "9" * 5000, "-1", "a/b", [], [1], [None],
       [[]], {}, {"a": 1}, {"name": "x", "points": 3}, {"builder": []}, {"mode": 3}, {"senders": "x"}]  # fmt: skip


@pytest.mark.parametrize("key", [field.alias or name for name, field in Spec.model_fields.items()])
def test_odd_values_are_refused_in_words(key: str) -> None:
    """A value of any type is refused as bad input, without any other error."""
    refused = 0
    for value in ODD:
        try:
            make_spec({"schemes": ["tcn"]} | {key: value})
        except BadInput:
            refused += 1
    assert refused > len(ODD) / 2


@pytest.mark.parametrize(
    ("settings", "message", "remedy"),
    [
        ({"rate": 10}, "rate: `10` should be greater than or equal to 1000000", "at least 1M and at most 10T"),
        ({"rate": "1e400"}, "rate: a rate of `1e400` is too large", None),
        ({"rtt": "1e999999999s"}, "rtt: a time of `1e999999999s` is too large", None),
        ({"flows": "1e9"}, "flows: `1e9` is not a whole number", "at least 0 and at most 10000000"),
        ({"flows": 10**9}, "flows: `1000000000` should be less than or equal to 10000000", "at least 0"),
        ({"load": "abc"}, "load: `abc` is not a number", "above 0 and at most 2"),
        ({"transport": "dctpc"}, "transport.control: `dctpc` should be", "did you mean `dctcp`?"),
        ({"load_by": "wire"}, "load_by: `wire` should be", "known: delivered, payload"),
        ({"transport": {"mss": 0}}, "transport.mss: `0` should be", "at least 1B and at most 65KB"),
        ({"topology": {"hosts": ["a"], "links": []}}, "hosts: it needs at least 2, not 1", None),
        ({"transport": {"min_rto": "61s"}}, "transport.min_rto: `61000000000` should be", "above 0s and at most 60s"),
        ({"transport": {"initial_window": 10**20}}, "transport.initial_window: ", "at least 1 and at most 1000000"),
        ({"lambda": float("inf")}, "lambda: `inf` should be", "above 0"),
        ({"queue": 10**30}, "queue.packets: ", "at least 1 and at most 1000000000"),
        ({"name": "../x"}, "name: `../x` cannot be part of a folder's name", "letter or digit"),
    ],
)
def test_what_is_wrong_comes_with_what_is_right(settings: dict[str, object], message: str, remedy: str | None) -> None:
    with pytest.raises(BadInput) as error:
        make_spec({"schemes": ["tcn"]} | settings)
    assert message in str(error.value)
    assert (remedy or "") in (error.value.remedy or "")


def test_one_scheme_needs_no_list() -> None:
    assert make_spec({"schemes": "dctcp-red:avg"}).schemes == make_spec({"schemes": ["dctcp-red:avg"]}).schemes


def test_an_option_takes_a_file_back_to_v1model() -> None:
    assert make_spec({"schemes": ["tcn"], "arch": "tna"}).arch == "tna"
    assert make_spec({"schemes": ["tcn"], "arch": "v1model"}) == make_spec({"schemes": ["tcn"]})
