# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real hosts and switches: what a Mininet network is made of, and what it must show before a run counts.

`network` builds it by `mininet_keeper`, in a folder by `workspace`. Its hosts are in `hosts`; its `switches`, which are
`running` then, are ours (`live`) or `bmv2`. `preflight`, `burst`, `health` and `validity` show what the machine is
worth, `records` what DCTCP in BPF saw, and `commands` calls programs of the system. Uses `prepare` and what is below.
Knows nothing of fabrics.
"""
