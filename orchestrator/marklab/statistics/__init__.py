# SPDX-License-Identifier: MIT OR Apache-2.0
"""Statistics: percentiles, intervals over few seeds, fairness, and repeatable random streams.

`samples` has means, ranks and intervals, `bootstrap` resamples seeds, `fairness` has max-min shares and Jain's index,
`randomness` the random streams. Uses numpy and nothing of the lab. A number never depends on the machine, nor on the
version of a library.
"""
