# SPDX-License-Identifier: MIT OR Apache-2.0
"""The flows of a run: sizes, round-trip times and arrivals, or a list of flows.

`description` has the users' settings, `workload` the distributions of sizes, `rtt` the round-trip times, `services`
the services that flows belong to, `jobs` those of parallel training, `chakra` their execution traces, `probes` the
pings, `flows` the list of flows. Uses `statistics`. Never knows a network: `prepare` makes flows for one.
"""
