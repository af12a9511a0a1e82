# SPDX-License-Identifier: MIT OR Apache-2.0
import numpy as np
import pytest

from marklab.statistics.randomness import exponential, integers, interpolate, log, uniform


def test_the_stream_is_the_same_everywhere_and_for_ever() -> None:
    # Known values: a change of them changes the flows of every earlier run.
    assert uniform(1, "sizes", 3).tolist() == [0.9038460454210766, 0.03984848898676663, 0.8564188274392099]


def test_a_shorter_draw_is_the_start_of_a_longer() -> None:
    assert uniform(7, "rtt", 10).tolist() == uniform(7, "rtt", 1000)[:10].tolist()


def test_streams_and_seeds_are_independent() -> None:
    draws = [uniform(seed, stream, 10_000) for seed in (1, 2) for stream in ("a", "b")]
    correlations = np.corrcoef(draws)[np.triu_indices(4, 1)]
    assert np.all(np.abs(correlations) < 0.05), correlations


def test_log_is_that_of_the_machine_to_the_last_bits() -> None:
    values = np.concatenate([uniform(1, "log", 100_000), 10.0 ** np.arange(-300, 300)])
    values = values[values > 0]
    error = np.abs(log(values) - np.log(values))
    assert np.max(error / np.maximum(np.abs(np.log(values)), 1e-16)) < 1e-14
    assert log(np.array([1.0]))[0] == 0.0


def test_exponential_has_mean_and_variance_one() -> None:
    draws = exponential(uniform(3, "gaps", 1_000_000))
    assert draws.min() >= 0
    assert draws.mean() == pytest.approx(1, abs=4e-3)
    assert draws.var() == pytest.approx(1, abs=1.2e-2)


def test_integers_are_even_and_below_the_bound() -> None:
    counts = np.bincount(integers(uniform(5, "pairs", 700_000), 7), minlength=7)
    assert len(counts) == 7
    assert np.all(np.abs(counts - 100_000) < 5 * np.sqrt(100_000)), counts
    assert integers(np.array([np.nextafter(1, 0)]), 7)[0] == 6


def test_interpolation_follows_the_lines_and_the_steps() -> None:
    x, y = np.array([0.0, 0.35, 0.35, 1.0]), np.array([10.0, 10.0, 20.0, 30.0])
    at = np.array([-1, 0, 0.2, 0.35, 0.675, 1, 2])
    assert interpolate(at, x, y).tolist() == pytest.approx([10, 10, 10, 20, 25, 30, 30])
