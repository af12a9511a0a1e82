# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which flows there are: sizes, round-trip times and arrivals, or a list of flows.

`description` is what users write, `workload` has the distributions of sizes, `rtt` the round-trip times, `services` and
`probes` what else is sent, `flows` the list of flows. Uses `statistics`. Never knows a network: `prepare.arrivals`
makes flows for one.
"""
