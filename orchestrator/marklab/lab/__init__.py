# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real hosts: what the kernel's TCP offers and how a namespace's is set up. Knows nothing of fabrics."""
