// SPDX-License-Identifier: MIT OR Apache-2.0
// DCTCP-RED: marks while the instantaneous queue is longer than K (ECN# paper section 2.1; RED with Kmin = Kmax = K).
//
// Signal: enq_qdepth, the queue that the packet found when it came.
#include <core.p4>
#include <v1model.p4>
#include "include/marking.p4"
#include "include/not_ect.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_LENGTH = 1;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above;
    bit<32> k = 0;

    action set_params(bit<19> k_pkts) {
        k = (bit<32>)k_pkts;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(167);
    }

    apply {
        params.apply();
        above.apply((bit<32>)q.enq_qdepth_pkts, k, CAUSE_LENGTH, decision, cause);
    }
}

#include "include/switch.p4"
