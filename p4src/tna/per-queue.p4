// SPDX-License-Identifier: MIT OR Apache-2.0
// Per-queue ECN on Tofino: marks while the queue is longer than its own K; see v1model/per-queue.p4.
#include <core.p4>
#include "include/chip.p4"
#include "include/marking.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_QUEUE_LENGTH = 1;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above;
    bit<32> k = 0;

    action set_k(bit<32> k_cells) {
        k = k_cells;
    }

    table threshold {
        key = { q.queue: exact @name("queue"); }
        actions = { set_k; }
        default_action = set_k(1235);
        size = 128;
    }

    apply {
        threshold.apply();
        above.apply(q.enq_qdepth_cells, k, CAUSE_QUEUE_LENGTH, decision, cause);
    }
}

#include "include/plain.p4"
