# SPDX-License-Identifier: MIT OR Apache-2.0
import math
from pathlib import Path

import numpy as np
import pytest

from marklab.errors import BadInput
from marklab.statistics.randomness import uniform
from marklab.traffic.workload import Workload, known_workloads, load_workload

# Bytes, from the papers and generators that published the distributions.
MEANS = {
    "web_search": 1_711_250,
    "data_mining": 12_658_199,
    "web_search_mqecn": 1_665_831,
    "data_mining_mqecn": 7_470_236,
    "cache": 910_690,
    "hadoop": 4_135_297,
    "fb_hadoop": 120_421,
    "web_objects": 7_200,
}


def test_the_distributions_of_the_papers_are_there() -> None:
    assert set(known_workloads()) == set(MEANS)


@pytest.mark.parametrize("name", MEANS)
def test_means(name: str) -> None:
    assert round(load_workload(name).mean_bytes()) == MEANS[name]


def test_the_mqecn_papers_workloads_give_its_fraction_of_tiny_flows() -> None:
    """Section 5.2: 65.1 % of flows up to 100 KB (of 1,024 bytes, as its authors count) have up to 16 packets.

    Services have equal loads there, so the number of a workload's flows is inverse to their mean size.
    """
    workloads = list(map(load_workload, ("web_search_mqecn", "data_mining_mqecn", "cache", "hadoop")))
    sizes = np.array([16 * 1460.0, 100 * 1024.0])
    tiny, small = sum(each.part_up_to(sizes) / each.mean_bytes() for each in workloads)
    assert 100 * tiny / small == pytest.approx(65.1, abs=0.05)


@pytest.mark.parametrize("name", MEANS)
def test_drawn_sizes_follow_the_distribution(name: str) -> None:
    workload = load_workload(name)
    count = 200_000
    sizes = workload.sizes(uniform(1, "sizes", count)).astype(float)
    assert sizes.mean() == pytest.approx(workload.mean_bytes(), abs=4 * sizes.std() / math.sqrt(count))
    for size, part in workload.points:
        # A step of the distribution is reached from above; sizes are rounded to bytes.
        assert np.mean(sizes <= size + 0.5) >= part - 4 * math.sqrt(0.25 / count)
        assert np.mean(sizes < size - 0.5) <= part + 4 * math.sqrt(0.25 / count)


@pytest.mark.parametrize("name", MEANS)
def test_mean_segments_are_those_of_drawn_flows(name: str) -> None:
    workload = load_workload(name)
    segments = np.ceil(workload.sizes(uniform(2, "sizes", 200_000)) / 1460)
    assert workload.mean_segments(1460) == pytest.approx(segments.mean(), abs=4 * segments.std() / math.sqrt(200_000))


def test_mean_segments_of_one_size_are_exact() -> None:
    for size, segments in ((1, 1), (1460, 1), (1461, 2), (14_600, 10), (14_601, 11)):
        workload = Workload("one", ((size, 0.0), (size, 1.0)))
        assert workload.mean_segments(1460) == segments


def test_mass_below_the_first_point_sits_on_it() -> None:
    workload = Workload("w", ((100, 0.4), (300, 1.0)))
    assert workload.mean_bytes() == pytest.approx(0.4 * 100 + 0.6 * 200)
    assert workload.sizes(np.array([0.0, 0.39, 0.7, 0.999999])).tolist() == [100, 100, 200, 300]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("size_bytes,cdf\n0,0\n100,0.5\n50,1\n", "decreases at point 3"),
        ("size_bytes,cdf\n0,0\n100,0.5\n200,0.4\n300,1\n", "decreases at point 3"),
        ("size_bytes,cdf\n0,0\n100,0.9\n", "ends at 0.9"),
        ("size_bytes,cdf\n100,1\n", "two are needed"),
        ("size_bytes,cdf\n0,0\n100,1.2\n", "fractions 0..1"),
        ("size_bytes,cdf\n0,0\n100,x\n", "line 3"),
        ("size_bytes,cdf\n0,0\nnan,1\n", "sizes must be 0"),
        ("0,0\n100,1\n", "not the header"),
        ("", "not the header"),
        ("size_bytes,cdf\n0,0\n0,1\n", "empty"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "w.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=why):
        load_workload(str(path))


def test_sizes_beyond_reason_are_refused() -> None:
    """The mean number of segments is a sum over those of the largest flow."""
    with pytest.raises(BadInput, match="point 2 is"):
        Workload("huge", ((0, 0), (1e30, 1)))


def test_files_of_spreadsheets_are_read(tmp_path: Path) -> None:
    """They begin with a byte order mark and end lines with two characters."""
    path = tmp_path / "w.csv"
    path.write_text("\ufeffsize_bytes,cdf\r\n0,0\r\n500,1\r\n")
    assert load_workload(str(path)).points == ((0, 0), (500, 1))


def test_unknown_names_come_with_the_nearest() -> None:
    with pytest.raises(BadInput, match="websearch") as error:
        load_workload("websearch")
    assert error.value.remedy is not None
    assert "did you mean `web_search`" in error.value.remedy
    with pytest.raises(BadInput, match="cannot read"):
        load_workload("no/such.csv")
