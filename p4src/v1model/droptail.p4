// SPDX-License-Identifier: MIT OR Apache-2.0
// Plain FIFO forwarding: nothing is marked, a full queue drops.
#include <core.p4>
#include <v1model.p4>
#include "include/marking.p4"

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    apply {
        decision = decision_t.PASS;
        cause = 0;
    }
}

#include "include/switch.p4"
