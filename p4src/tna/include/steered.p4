// SPDX-License-Identifier: MIT OR Apache-2.0
// The switch of schemes that assign queues to flows in ingress (flow_queues.p4). How ingress learns that a queue has
// become busy or empty depends on the chip: Tofino 2 has a ghost thread for it, and on Tofino 1 packets report it.
#ifndef MARKLAB_TNA_STEERED_P4
#define MARKLAB_TNA_STEERED_P4

#include "chip.p4"

#if MARKLAB_CHIP == 2
#include "steered_by_ghost.p4"
#else
#include "steered_by_packets.p4"
#endif

#endif // MARKLAB_TNA_STEERED_P4
