# SPDX-License-Identifier: MIT OR Apache-2.0
"""Commands about papers: `reproduce`, `vary`, `artifact`, `fidelity`, `burst-queue`. `size` has options of several."""
