# SPDX-License-Identifier: MIT OR Apache-2.0
"""A cell of a run again, to look at: the network over time, and one packet on its way.

A run that is over is not recorded: since the same description gives the same bytes, it is run again. `stored` makes a
cell of a run's folder ready; `questions` are what can be asked of a session in the engine; `checkpoints` keeps copies
of a session, so that an answer takes no more than the way from one copy to the next; `explain` asks for a packet, and
says in words what happened to it, `again` makes a packet test of it, and `capture` a file for Wireshark; `lives` tells
which queues a flow passed; `timeline` samples the whole network; `playback` has both of a cell, and `serve` answers
another process about one. `perfetto` writes a cell as a trace for another viewer.
"""
