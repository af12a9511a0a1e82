# SPDX-License-Identifier: MIT OR Apache-2.0
from pathlib import Path

import pytest

from marklab.errors import BadInput
from marklab.traffic.flows import ENDLESS_BYTES, FlowList, read_flow_list

HOSTS = ("h0", "h1", "h2")


def read(tmp_path: Path, text: str) -> FlowList:
    path = tmp_path / "flows.csv"
    path.write_text(text)
    return read_flow_list(path, HOSTS)


def test_hosts_come_by_name_or_index(tmp_path: Path) -> None:
    flows = read(tmp_path, "start_ns,src,dst,size_bytes\n0,h0,2,1000\n5,1, h0,20\n")
    assert [column.tolist() for column in (flows.src, flows.dst, flows.size_bytes)] == [[0, 1], [2, 0], [1000, 20]]
    assert flows.rate_bps.tolist() == [0, 0]


def test_optional_columns(tmp_path: Path) -> None:
    flows = read(tmp_path, "src,dst,start_ns,size_bytes,dscp,extra_delay_ns,rate_bps\n0,1,10us,5,46,1500,2.5G\n")
    assert (flows.start_ns[0], flows.dscp[0], flows.extra_delay_ns[0], flows.rate_bps[0]) == (
        10_000,
        46,
        1500,
        2_500_000_000,
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("start_ns,src,dst,size_bytes\n0,h0,h9,10\n", "line 2: unknown host `h9`"),
        ("start_ns,src,dst,size_bytes\n0,0,3,10\n", "line 2: unknown host `3`"),
        ("start_ns,src,dst,size_bytes\n0,0,0,10\n", "line 2: the flow goes from a host to itself"),
        ("start_ns,src,dst,size_bytes\n0,0,1,0\n", "line 2: the flow has no bytes"),
        ("start_ns,src,dst,size_bytes\n0,0,1,many\n", "line 2: `many` is not a size_bytes"),
        ("start_ns,src,dst,size_bytes\n0,0,1\n", "must have the same number of cells"),
        ("start_ns,src,dst,size_bytes\n0,0,1,5,6\n", "must have the same number of cells"),
        ("start_ns,src,dst,size_bytes\n9,0,1,5\n8,0,1,5\n", "line 3: the flow starts before"),
        ("start_ns,src,dst\n0,0,1\n", "no column `size_bytes`"),
        ("start_ns,src,dst,size_bytes,colour\n0,0,1,5,red\n", "unknown column"),
        ("start_ns,src,dst,size_bytes,dscp\n0,0,1,5,64\n", "dscp of 64 is too large"),
        ("start_ns,src,dst,size_bytes\n", "has no flows"),
        ("", "no column"),
        ("start_ns,src,dst,size_bytes\n1.5,0,1,5\n", "line 2: start_ns: `1.5` is not a time"),
        ("start_ns,src,dst,size_bytes\n0,0,1," + "9" * 5000, "line 2: a size_bytes of 9* is too large"),
    ],
)
def test_wrong_lists_are_refused_by_line(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        read(tmp_path, text)


def test_files_of_spreadsheets_are_read(tmp_path: Path) -> None:
    """They begin with a byte order mark and end lines with two characters."""
    assert len(read(tmp_path, "\ufeffstart_ns,src,dst,size_bytes\r\n0,0,1,5\r\n")) == 1  # type: ignore[arg-type]


def test_a_missing_file_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot read the flow list"):
        read_flow_list(tmp_path / "none.csv", HOSTS)


def test_a_flow_can_be_endless(tmp_path: Path) -> None:
    flows = read(tmp_path, "start_ns,src,dst,size_bytes,rate_bps\n0,0,1,endless,25G\n0,0,1,7,0\n")
    assert flows.endless.tolist() == [True, False]
    assert flows.rate_bps.tolist() == [25 * 10**9, 0]


@pytest.mark.parametrize(
    ("size", "fits"), [(ENDLESS_BYTES - 1, True), (ENDLESS_BYTES, True), (ENDLESS_BYTES + 1, False)]
)
def test_no_size_is_beyond_that_of_an_endless_flow(tmp_path: Path, size: int, fits: bool) -> None:
    text = f"start_ns,src,dst,size_bytes\n0,0,1,{size}\n"
    if fits:
        assert read(tmp_path, text).endless.tolist() == [size == ENDLESS_BYTES]
    else:
        with pytest.raises(BadInput, match="too large"):
            read(tmp_path, text)
