// SPDX-License-Identifier: MIT OR Apache-2.0
// Per-queue ECN: marks while the instantaneous queue is longer than its own K (MQ-ECN paper, section 2.2).
//
// Signal: enq_qdepth, as in dctcp-red.p4.
#include <core.p4>
#include <v1model.p4>
#include "include/marking.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_QUEUE_LENGTH = 1;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above;
    bit<32> k = 0;

    action set_k(bit<19> k_pkts) {
        k = (bit<32>)k_pkts;
    }

    table threshold {
        key = { q.queue: exact @name("queue"); }
        actions = { set_k; }
        default_action = set_k(65);
        size = 128;
    }

    apply {
        threshold.apply();
        above.apply((bit<32>)q.enq_qdepth_pkts, k, CAUSE_QUEUE_LENGTH, decision, cause);
    }
}

#include "include/switch.p4"
