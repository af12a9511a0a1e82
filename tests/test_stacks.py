# SPDX-License-Identifier: MIT OR Apache-2.0
"""Stacks: profiles and their settings, in descriptions, runs and on their page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from marklab.devices.hosts import Transport
from marklab.devices.stacks import PROFILES, Stack, transport_title
from marklab.errors import BadInput
from marklab.model import validate

PAGE = Path(__file__).parents[1] / "docs/stacks.md"


def transport(**settings: Any) -> Transport:
    return validate(Transport, settings, "")


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_sets_and_sources_every_setting(name: str) -> None:
    settings = {field.alias or name for name, field in Stack.model_fields.items()} - {"profile"}
    assert set(PROFILES[name].settings) == settings
    assert set(PROFILES[name].sources) == settings


def test_a_profile_is_written_by_name_and_overridden_by_setting() -> None:
    linux = PROFILES["linux"].settings
    assert transport(stack="linux").stack.model_dump() == {"profile": "linux", **linux}
    changed = transport(stack={"profile": "linux", "min_window": 1, "gro_segments": 2, "gro_timeout": "50us"}).stack
    others = {"min_window": 1, "gro_segments": 2, "gro_timeout": "50us"}
    assert changed.model_dump() == {"profile": "linux", **linux, **others}
    assert transport().stack.model_dump() == {"profile": "linux", **linux}


@pytest.mark.parametrize(
    ("stack", "message"),
    [
        ("lunix", "unknown stack `lunix`"),
        ({"profile": "rfc", "undo": True}, "undo needs D-SACK"),
        ({"profile": "linux", "loss_detection": "dupthresh"}, "a tail loss probe needs RACK"),
        ({"profile": "linux", "initial_alpha": 1.1}, "initial_alpha"),
        ({"profile": "linux", "min_window": 0}, "a window has a bound where it comes down by prr"),
        ({"profile": "ns-2", "min_window": -1}, "stack.min_window"),
        ({"profile": "linux", "pace": True}, "pace"),
        ({"profile": "linux", "pacing": "fast"}, "pacing"),
        ({"gro_segments": 45, "gro_timeout": "1us"}, "stack.gro_segments: `45` should be less than or equal to 44"),
        ({"gro_segments": 2}, "merged segments need a time that they wait at most"),
        ({"gro_timeout": "1us"}, "gro_timeout is a wait of merged segments, and none are merged"),
        ({"gro_segments": 1, "gro_timeout": "1us"}, "gro_timeout is a wait of merged segments, and none are merged"),
        ({"gro_segments": 2, "gro_timeout": "1001ms"}, "stack.gro_timeout"),
        ({"window_autotuning": "fast"}, "stack.window_autotuning"),
    ],
)
def test_what_contradicts_is_refused(stack: Any, message: str) -> None:
    with pytest.raises(BadInput, match=re.escape(message)):
        transport(stack=stack)


def test_the_most_segments_that_a_nic_merges_are_accepted() -> None:
    stack = transport(stack={"gro_segments": 44, "gro_timeout": "1s"}).stack
    assert (stack.gro_segments, stack.gro_timeout_ns) == (44, 10**9)
    assert transport(stack={"gro_segments": 1}).stack.gro_timeout_ns == 0


def test_a_window_that_is_tuned_is_one_that_a_header_can_advertise() -> None:
    most = 65_535 * 256
    for window in (most - 1, most):
        assert transport(stack={"window_autotuning": True}, receive_window=window).receive_window_bytes == window
    assert transport(receive_window=most + 1).receive_window_bytes == most + 1
    with pytest.raises(BadInput, match="more than a header can advertise") as caught:
        transport(stack={"window_autotuning": True}, receive_window=most + 1)
    assert "16776960 bytes or less" in str(caught.value.remedy)


def test_a_report_names_the_stack() -> None:
    assert transport_title({"control": "dctcp"}) == "dctcp"
    assert transport_title(transport(control="dcqcn").model_dump(mode="json")) == "dcqcn"
    plain = [transport(stack=stack).model_dump(mode="json") for stack in ("rfc", "linux", {"min_window": 1})]
    titles = ["dctcp on rfc", "dctcp on linux", "dctcp on linux, min_window=1"]
    assert [transport_title(each) for each in plain] == titles


def rows(text: str) -> dict[str, str]:
    return dict(re.findall(r"^\| `([\w.-]+)` \| (.*) \|$", text, flags=re.M))


def test_the_page_has_all_settings_with_their_sources() -> None:
    shown = rows(PAGE.read_text(encoding="utf-8").partition("###")[0])
    columns = [PROFILES[name] for name in ("rfc", "linux", "ns-3.37")]
    for name in columns[0].settings:
        cells = [text for each in columns for text in (_cell(each.settings[name]), each.sources[name])]
        assert shown.pop(name) == " | ".join(cells)
    assert {name: row.split(" | ")[0] for name, row in shown.items()} == {
        name: profile.title for name, profile in PROFILES.items()
    }


@pytest.mark.parametrize("name", sorted(set(PROFILES) - {"rfc", "linux", "ns-3.37"}))
def test_the_page_has_a_table_for_every_other_profile(name: str) -> None:
    _, _, behind = PAGE.read_text(encoding="utf-8").partition(f"<!-- profile {name} -->")
    profile = PROFILES[name]
    assert rows(behind.lstrip().partition("\n\n")[0]) == {
        setting: f"{_cell(value)} | {profile.sources[setting]}" for setting, value in profile.settings.items()
    }


def _cell(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
