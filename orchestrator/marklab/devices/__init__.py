# SPDX-License-Identifier: MIT OR Apache-2.0
"""How hosts, NICs and switch ports behave: their settings, as users write them, with defaults.

`frames` has headers and frames on lines, `hosts` transports and NICs, `stacks` what TCP stacks do differently,
`queueing` the queues of ports, `pfc` priority flow control and `lossless` the memory that it needs, `pias` the
priorities that hosts set. Uses `traffic` and `topology`. Never runs anything.
"""
