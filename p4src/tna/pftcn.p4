// SPDX-License-Identifier: MIT OR Apache-2.0
// PFTCN on Tofino: TCN for each flow; see v1model/pftcn.p4.
#include <core.p4>
#include "include/flow_queues.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_SOJOURN_TIME = 1;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above;
    bit<32> t = 0;

    action set_params(bit<32> t_ns) {
        t = t_ns;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(30000);
        size = 1;
    }

    apply {
        params.apply();
        above.apply(q.sojourn_ns, t, CAUSE_SOJOURN_TIME, decision, cause);
    }
}

#include "include/steered.p4"
