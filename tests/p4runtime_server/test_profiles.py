# SPDX-License-Identifier: MIT OR Apache-2.0
"""Members, groups and one-shot sets: effect on packets, reads, and refusals."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from marklab.p4runtime.messages import p4runtime_pb2
from p4runtime_server.controller import Client, Switch, entity, probe

# Port 0 is the default.
MISSED = {0: 1}


class Words:
    """Entities of features.p4's profiles in short."""

    def __init__(self, switch: Switch) -> None:
        self.switch = switch

    def action(self, port: int) -> str:
        params = f'params {{ param_id: 1 value: "\\x{port:02x}" }}'
        return f"action {{ action_id: {self.switch.id('actions', 'send')} {params} }}"

    def member(self, profile: str, number: int, port: int | None = None) -> Any:
        action = "" if port is None else self.action(port)
        owner = self.switch.id("action_profiles", profile)
        return entity("action_profile_member", f"action_profile_id: {owner} member_id: {number} {action}")

    def group(self, number: int, weights: dict[int, int], profile: str = "balanced", max_size: int = 0) -> Any:
        members = " ".join(f"members {{ member_id: {member} weight: {n} }}" for member, n in weights.items())
        owner = self.switch.id("action_profiles", profile)
        return entity(
            "action_profile_group",
            f"action_profile_id: {owner} group_id: {number} max_size: {max_size} {members}",
        )

    def entry(self, table: str, action: str) -> Any:
        """The entry for `a` = 1."""
        owner = self.switch.id("tables", table)
        text = f'table_id: {owner} match {{ field_id: 1 exact {{ value: "\\x01" }} }}'
        return entity("table_entry", f"{text} action {{ {action} }}" if action else text)

    def one_shot(self, *choices: tuple[int, int]) -> Any:
        """An entry with ports and weights."""
        listed = " ".join(
            f"action_profile_actions {{ {self.action(port)} weight: {weight} }}" for port, weight in choices
        )
        return self.entry("choices", f"action_profile_action_set {{ {listed} }}")


@pytest.fixture
def words(switch: Switch) -> Words:
    return Words(switch)


def shares(switch: Switch, packets: int) -> Counter[int]:
    """How many packets leave by each port, if each packet has another hash."""
    return Counter(port for b in range(packets) for port in switch.ports(probe(3, a=1, b=b)))


def test_entries_point_to_members(switch: Switch, client: Client, words: Words) -> None:
    one, two = words.member("shared", 10, 7), words.member("shared", 20, 8)
    client.write("INSERT", one, two, words.entry("members", "action_profile_member_id: 20"))
    assert switch.ports(probe(2, a=1)) == [8]
    client.write("MODIFY", words.member("shared", 20, 9))
    assert switch.ports(probe(2, a=1)) == [9]
    client.write("MODIFY", words.entry("members", "action_profile_member_id: 10"))
    assert switch.ports(probe(2, a=1)) == [7]
    client.write("DELETE", words.member("shared", 20))
    assert client.read(entity("action_profile_member", "")) == [one]
    entry = words.entry("members", "action_profile_member_id: 10")
    assert client.read(words.entry("members", "")) == [entry]


def test_members_in_use_stay(client: Client, words: Words) -> None:
    client.write("INSERT", words.member("shared", 1, 7), words.entry("members", "action_profile_member_id: 1"))
    code, text = client.refused("DELETE", words.member("shared", 1))
    assert (code, "cannot be deleted" in text) == ("FAILED_PRECONDITION", True)
    client.write("INSERT", words.member("balanced", 1, 7), words.group(5, {1: 1}))
    code, text = client.refused("DELETE", words.member("balanced", 1))
    assert (code, text) == (
        "FAILED_PRECONDITION",
        "action profile `FeaturesIngress.balanced`: member 1 is in group 5; modify the group first",
    )
    client.write("INSERT", words.entry("choices", "action_profile_group_id: 5"))
    assert client.refused("DELETE", words.group(5, {}))[0] == "FAILED_PRECONDITION"
    client.write("DELETE", words.entry("choices", ""), words.group(5, {}), words.member("balanced", 1))


def test_a_group_shares_by_weight(switch: Switch, client: Client, words: Words) -> None:
    client.write("INSERT", words.member("balanced", 1, 7), words.member("balanced", 2, 8), words.group(5, {1: 1, 2: 3}))
    client.write("INSERT", words.entry("choices", "action_profile_group_id: 5"))
    # The identity of `b`, modulo the sum of the weights, chooses.
    assert shares(switch, 400) == {7: 100, 8: 300}
    client.write("MODIFY", words.group(5, {1: 2, 2: 2}))
    assert shares(switch, 400) == {7: 200, 8: 200}
    # All copies of a member change with it.
    client.write("MODIFY", words.member("balanced", 2, 9))
    assert shares(switch, 400) == {7: 200, 9: 200}
    client.write("MODIFY", words.group(5, {2: 1}))
    assert shares(switch, 400) == {9: 400}
    assert client.read(entity("action_profile_group", "")) == [words.group(5, {2: 1})]
    client.write("DELETE", words.member("balanced", 1))


def test_a_one_shot_set_comes_and_goes_with_its_entry(switch: Switch, client: Client, words: Words) -> None:
    entry = words.one_shot((7, 1), (8, 3))
    client.write("INSERT", entry)
    assert shares(switch, 400) == {7: 100, 8: 300}
    assert client.read(words.entry("choices", "")) == [entry]
    # It has no members or groups that a client could name.
    assert client.read(entity("action_profile_member", "")) + client.read(entity("action_profile_group", "")) == []
    code, text = client.refused("INSERT", words.member("balanced", 1, 7))
    assert (code, "has one-shot sets" in text) == ("INVALID_ARGUMENT", True)
    client.write("MODIFY", words.one_shot((9, 2), (9, 2)))
    assert shares(switch, 400) == {9: 400}
    client.write("DELETE", words.entry("choices", ""))
    assert shares(switch, 1) == MISSED
    client.write("INSERT", words.member("balanced", 1, 7))
    code, text = client.refused("INSERT", entry)
    assert (code, "has members and groups" in text) == ("INVALID_ARGUMENT", True)


def test_a_refused_entry_leaves_no_one_shot_set(switch: Switch, client: Client, words: Words) -> None:
    entry = words.one_shot((7, 1))
    client.write("INSERT", entry)
    assert client.refused("INSERT", entry)[0] == "ALREADY_EXISTS"
    client.write("DELETE", entry)
    # Otherwise the selector would still be in one-shot mode.
    client.write("INSERT", words.member("balanced", 1, 7))


def test_a_new_pipeline_removes_groups_and_members(switch: Switch, client: Client, words: Words) -> None:
    client.write("INSERT", words.member("balanced", 1, 7), words.group(5, {1: 2}), words.member("shared", 3, 7))
    client.write("INSERT", words.entry("choices", "action_profile_group_id: 5"))
    config = p4runtime_pb2.ForwardingPipelineConfig(p4info=switch.running.info)
    request = p4runtime_pb2.SetForwardingPipelineConfigRequest(action="VERIFY_AND_COMMIT", config=config)
    client.call("SetForwardingPipelineConfig", request)
    assert client.read(entity("action_profile_member", ""), entity("action_profile_group", "")) == []
    assert shares(switch, 1) == MISSED
    client.write("INSERT", words.one_shot((7, 1)))
    assert shares(switch, 1) == {7: 1}


def test_a_profile_has_as_many_members_as_it_says(client: Client, words: Words) -> None:
    client.write("INSERT", words.member("shared", 1, 7), words.member("shared", 2, 7))
    code, text = client.refused("INSERT", words.member("shared", 3, 7))
    assert (code, "has its 2 members" in text) == ("RESOURCE_EXHAUSTED", True)


@pytest.mark.parametrize(
    ("size", "weights", "code"),
    [
        (0, {1: 1, 2: 3}, None),
        (0, {1: 2, 2: 3}, "RESOURCE_EXHAUSTED"),
        (3, {1: 1, 2: 2}, None),
        (3, {1: 1, 2: 3}, "RESOURCE_EXHAUSTED"),
        (4, {1: 1}, None),
        (5, {1: 1}, "INVALID_ARGUMENT"),
    ],
)
def test_a_group_is_no_larger_than_it_may_be(
    client: Client, words: Words, size: int, weights: dict[int, int], code: str | None
) -> None:
    """`@max_group_size(4)`."""
    client.write("INSERT", words.member("balanced", 1, 7), words.member("balanced", 2, 8))
    group = words.group(5, weights, max_size=size)
    if code is None:
        client.write("INSERT", group)
    else:
        assert client.refused("INSERT", group)[0] == code


def test_max_size_stays(client: Client, words: Words) -> None:
    client.write("INSERT", words.group(5, {}, max_size=3))
    code, text = client.refused("MODIFY", words.group(5, {}, max_size=4))
    assert (code, "its max_size was 3 and cannot become 4" in text) == ("INVALID_ARGUMENT", True)


def test_what_is_wrong_is_named(client: Client, words: Words) -> None:
    client.write("INSERT", words.member("balanced", 1, 7), words.group(5, {1: 1}))
    twice = words.group(6, {1: 1})
    twice.action_profile_group.members.add(member_id=1, weight=1)
    watched = words.group(6, {1: 1})
    watched.action_profile_group.members[0].watch_port = b"\1"
    for kind, wrong, code, said in (
        ("INSERT", words.member("balanced", 1, 7), "ALREADY_EXISTS", "member 1 is there already; modify it"),
        ("INSERT", words.member("balanced", 0, 7), "INVALID_ARGUMENT", "0 is not a member id"),
        ("INSERT", words.member("balanced", 2), "INVALID_ARGUMENT", "member 2 has no action"),
        ("MODIFY", words.member("balanced", 2, 7), "NOT_FOUND", "member 2 is not there; insert it"),
        ("DELETE", words.member("balanced", 2), "NOT_FOUND", "member 2 is not there"),
        ("INSERT", words.group(5, {1: 1}), "ALREADY_EXISTS", "group 5 is there already"),
        ("INSERT", words.group(0, {1: 1}), "INVALID_ARGUMENT", "0 is not a group id"),
        ("INSERT", words.group(6, {2: 1}), "NOT_FOUND", "has no member 2; insert the member first"),
        ("INSERT", words.group(6, {1: 0}), "INVALID_ARGUMENT", "weight 0 is not positive"),
        ("INSERT", words.group(6, {}, profile="shared"), "INVALID_ARGUMENT", "declare it as action_selector"),
        ("INSERT", twice, "INVALID_ARGUMENT", "member 1 is given twice; give it a weight instead"),
        ("INSERT", watched, "UNIMPLEMENTED", "nothing here watches ports"),
        ("MODIFY", words.group(6, {}), "NOT_FOUND", "group 6 is not there"),
        ("DELETE", words.group(6, {}), "NOT_FOUND", "group 6 is not there"),
        ("INSERT", words.entry("choices", "action_profile_member_id: 9"), "NOT_FOUND", "has no member 9"),
        ("INSERT", words.entry("choices", "action_profile_group_id: 9"), "NOT_FOUND", "has no group 9"),
        ("INSERT", words.entry("members", "action_profile_action_set { }"), "INVALID_ARGUMENT", "is not a selector"),
        ("INSERT", words.entry("fixed", "action_profile_member_id: 1"), "PERMISSION_DENIED", "const entries"),
    ):
        found, text = client.refused(kind, wrong)
        assert (found, said in text) == (code, True), text
    # The refused update has changed nothing.
    assert client.read(entity("action_profile_group", "")) == [words.group(5, {1: 1})]


def test_one_shot_sets_are_checked(client: Client, words: Words) -> None:
    empty = words.entry("choices", "action_profile_action_set { }")
    for wrong, code, said in (
        (empty, "INVALID_ARGUMENT", "is empty"),
        (words.one_shot((7, 0)), "INVALID_ARGUMENT", "action 0: weight 0 is not positive"),
        (words.one_shot((7, 2), (8, 3)), "RESOURCE_EXHAUSTED", "come to 5, and there is room for 4"),
    ):
        found, text = client.refused("INSERT", wrong)
        assert (found, said in text) == (code, True), text
