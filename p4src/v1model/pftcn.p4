// SPDX-License-Identifier: MIT OR Apache-2.0
// PFTCN: TCN for each flow, DiffECN's queues with marks by sojourn time (DiffECN paper, section VI-C.6).
//
// Signal: deq_timedelta, as in tcn.p4.
#include <core.p4>
#include <v1model.p4>
#include "include/flow_queues.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_SOJOURN_TIME = 1;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above;
    bit<32> t = 0;

    action set_params(bit<32> t_us) {
        t = t_us;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(30);
    }

    apply {
        params.apply();
        above.apply(q.sojourn_us, t, CAUSE_SOJOURN_TIME, decision, cause);
    }
}

#include "include/switch.p4"
