# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real hosts, each in a network namespace.

`host` opens and serves the flows; `tcp`, `congestion`, `bpf`, `ecn_plus` and `delays` set up the namespace's transport;
`ping` measures round trips. Knows nothing of fabrics.
"""
