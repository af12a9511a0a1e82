# SPDX-License-Identifier: MIT OR Apache-2.0
"""Action profiles and selectors: members, groups, one-shot action sets (P4Runtime specification, section 9.2).

The engine numbers members and groups itself, and a member can be in a group only once. So a member of weight n becomes
n members of the engine. They are made when a group first needs them, and removed with the member.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from marklab.engine.binding import Control
from marklab.p4runtime.messages import p4runtime_pb2
from marklab.p4runtime.server.calls import Call, read_call
from marklab.p4runtime.server.objects import Objects
from marklab.p4runtime.server.refusal import absent, full, invalid, present, unsupported, untimely

# The largest sum of weights in a group if P4Info gives no limit. Each unit of weight is a member of the engine.
MAX_GROUP_SIZE = 1024


@dataclass
class _Member:
    call: Call
    # The engine's members, as many as the largest weight.
    copies: list[int]


@dataclass
class _Group:
    message: Any
    number: int
    # The engine's members in the group.
    copies: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Pointer:
    """The target of an entry in a table with a profile. `members` has the members of a one-shot set, which it owns."""

    profile_id: int
    call: str
    number: int
    message: Any
    members: tuple[int, ...] = ()

    @property
    def is_one_shot(self) -> bool:
        """Whether the entry owns the group."""
        return str(self.message.WhichOneof("type")) == "action_profile_action_set"

    def engine(self) -> dict[str, Any]:
        """The target in the engine's form."""
        return {"action": self.call, "params": {"id": self.number}}


class Profiles:
    """The members and groups of all action profiles."""

    def __init__(self, objects: Objects, control: Control) -> None:
        self._objects = objects
        self._control = control
        self._members: dict[tuple[int, int], _Member] = {}
        self._groups: dict[tuple[int, int], _Group] = {}
        self._one_shots: Counter[int] = Counter()

    def write_member(self, kind: str, entry: Any) -> None:
        """Insert, modify or delete a member."""
        profile, key = self._find(entry), (entry.action_profile_id, entry.member_id)
        what = f"action profile `{profile.preamble.name}`: member {entry.member_id}"
        if not entry.member_id:
            raise invalid(f"{what}: 0 is not a member id", "number members from 1")
        self._check_existence(kind, key in self._members, what)
        match kind:
            case "INSERT":
                self._check_style(profile)
                if sum(number == key[0] for number, _ in self._members) >= profile.size > 0:
                    raise full(f"{what}: the profile has its {profile.size} members", "enlarge it, or delete a member")
                call = self._call(profile, entry, what)
                self._members[key] = _Member(call, [self._add_member(profile, call)])
            case "MODIFY":
                member, call = self._members[key], self._call(profile, entry, what)
                for copy in member.copies:
                    self._perform(profile, "modify_member", member=copy, **call.engine())
                member.call = call
            case "DELETE":
                for (owner, group), found in self._groups.items():
                    if owner == key[0] and found.copies & set(self._members[key].copies):
                        raise untimely(f"{what} is in group {group}", "modify the group first")
                # Entries point to the first copy. If it cannot be deleted, none is deleted.
                for copy in self._members[key].copies:
                    self._perform(profile, "delete_member", member=copy)
                del self._members[key]

    def write_group(self, kind: str, entry: Any) -> None:
        """Insert, modify or delete a group."""
        profile, key = self._find(entry), (entry.action_profile_id, entry.group_id)
        what = f"action profile `{profile.preamble.name}`: group {entry.group_id}"
        if not profile.with_selector:
            raise invalid(f"{what}: it is not a selector and has no groups", "declare it as action_selector")
        if not entry.group_id:
            raise invalid(f"{what}: 0 is not a group id", "number groups from 1")
        self._check_existence(kind, key in self._groups, what)
        if kind == "DELETE":
            self._perform(profile, "delete_group", group=self._groups[key].number)
            del self._groups[key]
            return
        copies = self._copies_for(profile, entry, what)
        if kind == "INSERT":
            self._check_style(profile)
            self._groups[key] = _Group(entry, self._perform(profile, "add_group"))
        elif self._groups[key].message.max_size != entry.max_size:
            was = self._groups[key].message.max_size
            raise invalid(f"{what}: its max_size was {was} and cannot become {entry.max_size}", "delete it first")
        self._fill(profile, self._groups[key], copies)
        self._groups[key].message = entry

    def read_members(self, wanted: Any) -> Iterator[Any]:
        """The members that a request selects."""
        profiles = {each.preamble.id for each in self._objects.selected("action_profiles", wanted.action_profile_id)}
        for (profile, number), member in self._members.items():
            if profile in profiles and wanted.member_id in {0, number}:
                yield p4runtime_pb2.ActionProfileMember(
                    action_profile_id=profile, member_id=number, action=member.call.message()
                )

    def read_groups(self, wanted: Any) -> Iterator[Any]:
        """The groups that a request selects."""
        profiles = {each.preamble.id for each in self._objects.selected("action_profiles", wanted.action_profile_id)}
        for (profile, number), group in self._groups.items():
            if profile in profiles and wanted.group_id in {0, number}:
                yield group.message

    def point(self, table: Any, action: Any) -> Pointer:
        """The target of an entry that a client sent. A one-shot set is created here: `release` it if it is not used."""
        profile = self._objects.find("action_profiles", table.implementation_id)
        sent, name = action.WhichOneof("type"), table.preamble.name
        if sent == "action_profile_action_set":
            return self._one_shot(profile, table, action)
        if sent not in {"action_profile_member_id", "action_profile_group_id"}:
            raise invalid(
                f"table `{name}` has an action profile, and its entry has {sent or 'no action'}",
                "point to a member, or in a selector to a group or a one-shot set",
            )
        call, known = ("member", self._members) if sent == "action_profile_member_id" else ("group", self._groups)
        self._check_style(profile)
        key = (profile.preamble.id, getattr(action, sent))
        if key not in known:
            raise absent(f"action profile `{profile.preamble.name}` has no {call} {key[1]}", f"insert the {call} first")
        number = self._members[key].copies[0] if call == "member" else self._groups[key].number
        return Pointer(key[0], call, number, action)

    def release(self, pointer: Pointer) -> None:
        """Release the target of an entry that is gone. A one-shot set is removed."""
        if pointer.is_one_shot:
            profile = self._objects.find("action_profiles", pointer.profile_id)
            self._perform(profile, "delete_group", group=pointer.number)
            for member in pointer.members:
                self._perform(profile, "delete_member", member=member)
            self._one_shots[pointer.profile_id] -= 1

    def reset(self) -> None:
        """Remove all groups and members. No entry may point to them any more."""
        for (profile, _), group in list(self._groups.items()):
            self._perform(self._objects.find("action_profiles", profile), "delete_group", group=group.number)
        for (profile, _), member in list(self._members.items()):
            for copy in member.copies:
                self._perform(self._objects.find("action_profiles", profile), "delete_member", member=copy)
        self._groups.clear()
        self._members.clear()

    def _find(self, entry: Any) -> Any:
        return self._objects.find("action_profiles", entry.action_profile_id)

    @staticmethod
    def _check_existence(kind: str, exists: bool, what: str) -> None:
        if kind == "INSERT" and exists:
            raise present(f"{what} is there already", "modify it")
        if kind != "INSERT" and not exists:
            raise absent(f"{what} is not there", "insert it")

    def _check_style(self, profile: Any) -> None:
        if self._one_shots[profile.preamble.id]:
            raise invalid(
                f"action profile `{profile.preamble.name}` has one-shot sets, hence no members and groups of its own",
                "use one-shot sets only, or delete their entries first",
            )

    def _call(self, profile: Any, entry: Any, what: str) -> Call:
        if not entry.HasField("action"):
            raise invalid(f"{what} has no action", "give one")
        # The tables of a profile have the same actions (section 9.2.1).
        return read_call(self._objects, self._objects.find("tables", profile.table_ids[0]), entry.action)

    def _copies_for(self, profile: Any, entry: Any, what: str) -> set[int]:
        """The engine's members that a group consists of."""
        weights: dict[int, int] = {}
        for member in entry.members:
            if (entry.action_profile_id, member.member_id) not in self._members:
                raise absent(f"{what}: the profile has no member {member.member_id}", "insert the member first")
            if member.member_id in weights:
                raise invalid(f"{what}: member {member.member_id} is given twice", "give it a weight instead")
            _check_choice(f"{what}: member {member.member_id}", member)
            weights[member.member_id] = member.weight
        _check_size(profile, list(weights.values()), entry.max_size, what)
        copies: set[int] = set()
        for number, weight in weights.items():
            member = self._members[entry.action_profile_id, number]
            while len(member.copies) < weight:
                member.copies.append(self._add_member(profile, member.call))
            copies.update(member.copies[:weight])
        return copies

    def _fill(self, profile: Any, group: _Group, copies: set[int]) -> None:
        """Set the members of a group. New ones are added before old ones are removed, so the group is never empty."""
        for copy in sorted(copies - group.copies):
            self._perform(profile, "add_to_group", member=copy, group=group.number)
        for copy in sorted(group.copies - copies):
            self._perform(profile, "remove_from_group", member=copy, group=group.number)
        group.copies = copies

    def _one_shot(self, profile: Any, table: Any, action: Any) -> Pointer:
        key, what = profile.preamble.id, f"table `{table.preamble.name}`: one-shot set"
        if not profile.with_selector:
            raise invalid(f"{what}: `{profile.preamble.name}` is not a selector", "point to a member")
        if any(owner == key for owner, _ in [*self._members, *self._groups]):
            raise invalid(f"{what}: `{profile.preamble.name}` has members and groups", "point to one of them")
        choices = action.action_profile_action_set.action_profile_actions
        if not choices:
            raise invalid(f"{what} is empty", "give at least one action")
        for place, choice in enumerate(choices):
            _check_choice(f"{what}: action {place}", choice)
        calls = [read_call(self._objects, table, choice.action) for choice in choices]
        _check_size(profile, [choice.weight for choice in choices], 0, what)
        members = [
            self._add_member(profile, call)
            for call, choice in zip(calls, choices, strict=True)
            for _ in range(choice.weight)
        ]
        group = self._perform(profile, "add_group")
        for member in members:
            self._perform(profile, "add_to_group", member=member, group=group)
        canonical = p4runtime_pb2.TableAction()
        for call, choice in zip(calls, choices, strict=True):
            added = canonical.action_profile_action_set.action_profile_actions.add(weight=choice.weight)
            added.action.CopyFrom(call.message())
        self._one_shots[key] += 1
        return Pointer(key, "group", group, canonical, tuple(members))

    def _add_member(self, profile: Any, call: Call) -> int:
        return self._perform(profile, "add_member", **call.engine())

    def _perform(self, profile: Any, operation: str, **given: Any) -> int:
        """Carry out an operation of the engine. Returns the number of the object that it created, if any."""
        made = json.loads(self._control.control(json.dumps({operation: {"profile": profile.preamble.name, **given}})))
        return int(made) if made is not None else 0


def _check_choice(what: str, choice: Any) -> None:
    if choice.weight <= 0:
        raise invalid(f"{what}: weight {choice.weight} is not positive", "give at least 1")
    if choice.watch_port or choice.WhichOneof("watch_kind"):
        raise unsupported(f"{what}: nothing here watches ports", "leave `watch_port` out")


def _check_size(profile: Any, weights: list[int], max_size: int, what: str) -> None:
    most = profile.max_group_size
    if max_size < 0 or (most and max_size > most):
        raise invalid(f"{what}: max_size {max_size} is not in 0..{most or MAX_GROUP_SIZE}", "give a smaller one")
    counted = len(weights) if profile.HasField("sum_of_members") else sum(weights)
    room = max_size or most or MAX_GROUP_SIZE
    if counted > room or sum(weights) > max(room, MAX_GROUP_SIZE):
        raise full(f"{what}: its weights come to {sum(weights)}, and there is room for {room}", "give smaller weights")
