// SPDX-License-Identifier: MIT OR Apache-2.0
// Per-port ECN: marks while all of the port's queues together are longer than K (MQ-ECN paper, section 2.2).
//
// Signal: packets in these queues when the packet came, counted by include/occupancy.p4: the paper's switches mark at
// enqueue. The mark is set one sojourn later, as with enq_qdepth in dctcp-red.p4.
#include <core.p4>
#include <v1model.p4>
#define MARKLAB_POOL(port) (port)
#include "include/occupancy.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_PORT_LENGTH = 1;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above;
    LeavePool() leave_pool;
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
        leave_pool.apply(q);
        above.apply(q.pool_pkts, k, CAUSE_PORT_LENGTH, decision, cause);
    }
}

#include "include/switch.p4"
