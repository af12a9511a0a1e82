// SPDX-License-Identifier: MIT OR Apache-2.0
// The decision of per-port and per-pool ECN: marks while all queues of a pool together are longer than K (MQ-ECN paper,
// section 2.2). Define MARKLAB_POOL(port) before including this file, see occupancy.p4.
//
// Signal: packets in these queues when the packet came, counted by occupancy.p4, since the paper's switches mark at
// enqueue. The mark is set one sojourn later, as with enq_qdepth in dctcp-red.p4.
#ifndef MARKLAB_POOL_LENGTH_P4
#define MARKLAB_POOL_LENGTH_P4

#include "occupancy.p4"
#include "../../include/threshold.p4"

const cause_t CAUSE_POOL_LENGTH = 1;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above;
    bit<32> k = 0;

    action set_params(bit<19> k_pkts) {
        k = (bit<32>)k_pkts;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(65);
    }

    apply {
        params.apply();
        above.apply(q.pool_pkts, k, CAUSE_POOL_LENGTH, decision, cause);
    }
}

#endif // MARKLAB_POOL_LENGTH_P4
