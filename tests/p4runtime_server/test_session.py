# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arbitration, the pipeline config, and refusals before a request is examined."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from marklab.engine import binding as engine
from marklab.errors import SetupError
from marklab.p4runtime.messages import code_pb2, p4info_pb2, p4runtime_pb2
from marklab.p4runtime.server import Server
from marklab.p4runtime.server.arbitration import MAX_STREAMS
from marklab.paths import PROGRAMS
from p4runtime_server.controller import FEATURES, Client, Refused, Switch, entity

Clients = Callable[..., Client]
Set = p4runtime_pb2.SetForwardingPipelineConfigRequest
Get = p4runtime_pb2.GetForwardingPipelineConfigRequest


def status_and_leader(arbitration: object) -> tuple[str, int]:
    """Status and election id of a notification."""
    code = code_pb2.Code.Name(arbitration.status.code)  # type: ignore[attr-defined]
    return code, arbitration.election_id.low  # type: ignore[attr-defined]


def config_of(switch: Switch) -> object:
    return p4runtime_pb2.ForwardingPipelineConfig(p4info=switch.running.info)


def routes(switch: Switch) -> int:
    return switch.id("tables", "routes")


def test_the_highest_election_id_is_primary_and_all_are_told(switch: Switch, client_of: Clients) -> None:
    first, second = client_of(switch, None), client_of(switch, None)
    assert status_and_leader(first.arbitrate(5)) == ("OK", 5)
    assert status_and_leader(second.arbitrate(4)) == ("ALREADY_EXISTS", 5)
    assert status_and_leader(second.arbitrate(6)) == ("OK", 6)
    assert status_and_leader(first.answer().arbitration) == ("ALREADY_EXISTS", 6)
    second.close()
    assert status_and_leader(first.answer().arbitration) == ("NOT_FOUND", 6)
    # The highest id ever seen counts, not the highest of the remaining controllers.
    assert status_and_leader(first.arbitrate(5)) == ("NOT_FOUND", 6)
    assert status_and_leader(first.arbitrate(6)) == ("OK", 6)


def test_a_primary_can_step_back(switch: Switch, client_of: Clients) -> None:
    first, second = client_of(switch, 5), client_of(switch, 4)
    assert status_and_leader(first.arbitrate(3)) == ("NOT_FOUND", 5)
    assert status_and_leader(second.answer().arbitration) == ("NOT_FOUND", 5)


def test_without_an_election_id_nobody_is_primary(switch: Switch, client_of: Clients) -> None:
    standby = client_of(switch, None)
    answer = standby.arbitrate(None)
    assert (status_and_leader(answer)[0], answer.HasField("election_id")) == ("NOT_FOUND", False)


def test_election_ids_have_128_bits(switch: Switch, client_of: Clients) -> None:
    high, low = client_of(switch, 1 << 64), client_of(switch, None)
    assert status_and_leader(low.arbitrate((1 << 64) - 1))[0] == "ALREADY_EXISTS"
    high.close()


@pytest.mark.parametrize(
    ("wanted", "code", "said"),
    [
        ({"election_id": 5}, "INVALID_ARGUMENT", "another controller has election id 5"),
        ({"election_id": 6, "device_id": 9}, "NOT_FOUND", "use device id 3"),
        ({"election_id": 6, "role": "telemetry"}, "UNIMPLEMENTED", "role `telemetry`: there is the default role only"),
    ],
)
def test_a_stream_that_arbitrates_wrongly_ends(
    switch: Switch, client_of: Clients, wanted: dict[str, int], code: str, said: str
) -> None:
    client_of(switch, 5)
    with pytest.raises(Refused, match=said) as refused:
        client_of(switch, None).arbitrate(**wanted)
    assert refused.value.code == code


def test_a_stream_stays_with_its_device(client: Client) -> None:
    with pytest.raises(Refused) as refused:
        client.arbitrate(2, device_id=9)
    assert refused.value.code == "FAILED_PRECONDITION"


def test_streams_are_limited(switch: Switch, client_of: Clients) -> None:
    for number in range(1, MAX_STREAMS + 1):
        client_of(switch, number)
    with pytest.raises(Refused) as refused:
        client_of(switch, MAX_STREAMS + 1)
    assert refused.value.code == "RESOURCE_EXHAUSTED"


def test_a_server_that_stops_ends_its_streams(switch: Switch, client: Client) -> None:
    before = time.monotonic()
    switch.server.stop()
    assert time.monotonic() - before < 1
    with pytest.raises(StopIteration):
        client.answer()


def test_a_port_in_use_is_named(switch: Switch) -> None:
    harness = engine.new_harness(engine.compile_program(FEATURES))
    harness.set_register("FeaturesIngress.notes", 0, 5)
    with pytest.raises(SetupError, match=f"cannot serve P4Runtime at {switch.address}"):
        Server(switch.running, harness, address=switch.address)
    assert harness.register("FeaturesIngress.notes", 0) == 5, "the switch is as it was"


def test_only_the_primary_writes_and_everybody_reads(switch: Switch, client_of: Clients) -> None:
    request = entity("table_entry", f"table_id: {routes(switch)}")
    nobody = client_of(switch, None)
    with pytest.raises(Refused, match="there is no primary controller") as refused:
        nobody.write("INSERT", request)
    assert refused.value.code == "PERMISSION_DENIED"
    client_of(switch, 7)
    with pytest.raises(Refused, match="election id 1 is not that of the primary, 7") as refused:
        nobody.write("INSERT", request)
    assert (refused.value.code, refused.value.errors) == ("PERMISSION_DENIED", [])
    assert nobody.read(request) == []


@pytest.mark.parametrize("name", ["Write", "SetForwardingPipelineConfig", "GetForwardingPipelineConfig"])
def test_calls_for_another_device_or_role_are_refused(client: Client, name: str) -> None:
    request = getattr(p4runtime_pb2, f"{name}Request")
    with pytest.raises(Refused, match="there is no device 9 here; use device id 3") as refused:
        client.call(name, request(device_id=9))
    assert refused.value.code == "NOT_FOUND"
    if "role" in request.DESCRIPTOR.fields_by_name:
        with pytest.raises(Refused) as refused:
            client.call(name, request(role="telemetry"))
        assert refused.value.code == "UNIMPLEMENTED"


@pytest.mark.parametrize("atomicity", ["ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC"])
def test_batches_are_not_atomic(client: Client, atomicity: str) -> None:
    with pytest.raises(Refused, match="use CONTINUE_ON_ERROR") as refused:
        client.call("Write", p4runtime_pb2.WriteRequest(atomicity=atomicity))
    assert refused.value.code == "UNIMPLEMENTED"


def test_a_batch_has_an_outcome_for_each_element(switch: Switch, client: Client) -> None:
    good = entity("table_entry", f"table_id: {switch.id('tables', 'keyless')} is_default_action: true")
    bad, empty = entity("table_entry", "table_id: 1"), p4runtime_pb2.Entity()
    with pytest.raises(Refused, match="2 of 3 updates were refused") as refused:
        client.write("MODIFY", bad, good, empty)
    assert (refused.value.code, refused.value.codes) == ("UNKNOWN", ["INVALID_ARGUMENT", "OK", "INVALID_ARGUMENT"])
    assert "there is no table with id 0x00000001; known: FeaturesIngress." in refused.value.errors[0].message
    with pytest.raises(Refused, match="2 of 3 requests were refused") as refused:
        client.read(bad, good, empty)
    assert refused.value.codes == ["INVALID_ARGUMENT", "OK", "INVALID_ARGUMENT"]


def test_an_update_needs_a_type(client: Client) -> None:
    assert client.refused("UNSPECIFIED", entity("table_entry", ""))[0] == "INVALID_ARGUMENT"


@pytest.mark.parametrize("name", ["extern_entry", "value_set_entry", "digest_entry"])
def test_entities_that_the_server_does_not_have_are_named(client: Client, name: str) -> None:
    code, text = client.refused("INSERT", entity(name, ""))
    assert code == "UNIMPLEMENTED"
    assert text.startswith(name)


def test_the_running_pipeline_is_read(switch: Switch, client: Client) -> None:
    config = client.call("GetForwardingPipelineConfig", Get()).config
    assert config.p4info == switch.running.info
    assert config.p4_device_config == FEATURES.read_bytes()
    assert not config.HasField("cookie")
    assert client.call("Capabilities", p4runtime_pb2.CapabilitiesRequest()).p4runtime_api_version == "1.4.1"


@pytest.mark.parametrize(
    "device_config",
    [b"", FEATURES.read_bytes(), FEATURES.read_bytes() + b"\n// the same\n", bytes(FEATURES), b'{"pipelines": []}'],
    ids=["none", "text", "other text", "path", "BMv2"],
)
def test_the_same_pipeline_is_accepted_and_kept(switch: Switch, client: Client, device_config: bytes) -> None:
    request = Set(action="VERIFY_AND_COMMIT", config=config_of(switch))
    request.config.p4_device_config = device_config
    request.config.cookie.cookie = 7
    # Parts that may differ between compilers.
    request.config.p4info.pkg_info.Clear()
    for table in request.config.p4info.tables:
        table.ClearField("initial_default_action")
    client.call("SetForwardingPipelineConfig", request)
    for kind, kept in {
        "ALL": {"p4info", "p4_device_config", "cookie"},
        "COOKIE_ONLY": {"cookie"},
        "P4INFO_AND_COOKIE": {"p4info", "cookie"},
        "DEVICE_CONFIG_AND_COOKIE": {"p4_device_config", "cookie"},
    }.items():
        config = client.call("GetForwardingPipelineConfig", Get(response_type=kind)).config
        expected = p4runtime_pb2.ForwardingPipelineConfig()
        for name in kept:
            if name == "p4_device_config":
                expected.p4_device_config = device_config
            else:
                getattr(expected, name).CopyFrom(getattr(request.config, name))
        assert config == expected


@pytest.mark.parametrize(
    ("device_config", "said"),
    [
        (b"\xff\xfe", "neither a BMv2 JSON nor a program that compiles"),
        (b"{}", "neither a BMv2 JSON"),
        (b'{"pipelines": [', "neither a BMv2 JSON"),
        (b"control {", "nor a program that compiles"),
        (bytes(PROGRAMS / "dctcp-red.p4"), "another program than features.p4"),
    ],
)
def test_another_device_config_is_refused(switch: Switch, client: Client, device_config: bytes, said: str) -> None:
    request = Set(action="VERIFY", config=config_of(switch))
    request.config.p4_device_config = device_config
    with pytest.raises(Refused, match=said) as refused:
        client.call("SetForwardingPipelineConfig", request)
    assert refused.value.code == "INVALID_ARGUMENT"


def test_the_program_is_that_of_the_start(switch_of: Callable[..., Switch], client_of: Clients, tmp_path: Path) -> None:
    source = tmp_path / "edited.p4"
    source.write_bytes(FEATURES.read_bytes())
    switch = switch_of(source)
    client = client_of(switch)
    edited = FEATURES.read_text().replace("send(31)", "send(30)")
    source.write_text(edited)
    request = Set(action="VERIFY", config=config_of(switch))
    request.config.p4_device_config = FEATURES.read_bytes()
    client.call("SetForwardingPipelineConfig", request)
    request.config.p4_device_config = edited.encode()
    with pytest.raises(Refused, match="another program"):
        client.call("SetForwardingPipelineConfig", request)


def test_another_p4info_is_refused_with_what_differs(switch: Switch, client: Client) -> None:
    request = Set(action="VERIFY", config=config_of(switch))
    info = request.config.p4info
    next(each for each in info.tables if each.preamble.id == routes(switch)).match_fields[0].bitwidth = 16
    del info.meters[:]
    info.counters.add().preamble.name = "more"
    with pytest.raises(Refused) as refused:
        client.call("SetForwardingPipelineConfig", request)
    assert refused.value.code == "INVALID_ARGUMENT"
    for said in (
        "table `FeaturesIngress.routes`: match_fields[0].bitwidth is 16, here 32",
        "counter `more` (0x00000000) is not in the program",
        "meter `FeaturesIngress.limits` (0x14a7eea3) is missing",
    ):
        assert said in str(refused.value)


def test_a_commit_takes_what_was_saved(switch: Switch, client: Client) -> None:
    commit = Set(action="COMMIT")
    with pytest.raises(Refused, match="no config is saved") as refused:
        client.call("SetForwardingPipelineConfig", commit)
    assert refused.value.code == "NOT_FOUND"
    saved = Set(action="VERIFY_AND_SAVE", config=config_of(switch))
    saved.config.cookie.cookie = 5
    client.call("SetForwardingPipelineConfig", saved)
    assert not client.call("GetForwardingPipelineConfig", Get()).config.HasField("cookie")
    with pytest.raises(Refused, match="COMMIT takes no config"):
        client.call("SetForwardingPipelineConfig", Set(action="COMMIT", config=config_of(switch)))
    client.call("SetForwardingPipelineConfig", commit)
    assert client.call("GetForwardingPipelineConfig", Get()).config.cookie.cookie == 5


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (Set(), "the action is not specified"),
        (Set(action="VERIFY"), "VERIFY needs a config"),
        (Set(action="VERIFY", config=p4runtime_pb2.ForwardingPipelineConfig()), "the config has no P4Info"),
        (Set(action="VERIFY", config={"p4info": p4info_pb2.P4Info()}), "`FeaturesIngress.routes` .* is missing"),
    ],
)
def test_a_config_must_be_there(client: Client, request_: object, said: str) -> None:
    with pytest.raises(Refused, match=said) as refused:
        client.call("SetForwardingPipelineConfig", request_)
    assert refused.value.code == "INVALID_ARGUMENT"
