# SPDX-License-Identifier: MIT OR Apache-2.0
"""The flows of a run: sizes, round-trip times and arrivals, or a list of flows.

`description` has the users' settings, `workload` has the distributions of sizes, `rtt` the round-trip times, `services`
and `probes` other traffic, `flows` the list of flows. Uses `statistics`. Never knows a network: `prepare.arrivals`
makes flows for one.
"""
