# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real hosts and switches: the parts of a Mininet network, and the checks that a run has to pass.

`network` builds it with `mininet_keeper`, in a folder by `workspace`. Its hosts are in `hosts`; its `switches`, once
`running`, are ours (`live`) or `bmv2`. `preflight`, `burst`, `health` and `validity` check machine and network,
`records` reads what DCTCP in BPF saw, and `commands` calls programs of the system. Uses `prepare` and lower floors.
Knows nothing of fabrics.
"""
