// SPDX-License-Identifier: MIT OR Apache-2.0
// DCTCP-RED on Tofino: marks while the instantaneous queue is longer than K; see v1model/dctcp-red.p4.
#include <core.p4>
#include "include/chip.p4"
#include "include/marking.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_LENGTH = 1;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above;
    bit<32> k = 0;

    action set_params(bit<32> k_cells) {
        k = k_cells;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(3173);
        size = 1;
    }

    apply {
        params.apply();
        above.apply(q.enq_qdepth_cells, k, CAUSE_LENGTH, decision, cause);
    }
}

#include "include/plain.p4"
