# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a fabric gets: a description made ready, with network, flows of each seed, programs and table entries.

`experiment` has the prepared run, `arrivals` and `web` its flows, `control` the entries of its switches, `dilation` its
times for slow machines, `ideal` the FCTs of an empty network, `versions` what made it. Uses `spec` and what is below.
Never looks at a result.
"""
