// SPDX-License-Identifier: MIT OR Apache-2.0
// TCN: marks packets whose sojourn time exceeds T = lambda * RTT (ECN# paper section 2.1 and Eq. 2).
//
// Signal: deq_timedelta, so the rate that the scheduler gives the queue need not be known.
#include <core.p4>
#include <v1model.p4>
#include "include/marking.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_SOJOURN = 1;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above;
    bit<32> t = 0;

    action set_params(bit<32> t_us) {
        t = t_us;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(200);
    }

    apply {
        params.apply();
        above.apply(q.sojourn_us, t, CAUSE_SOJOURN, decision, cause);
    }
}

#include "include/switch.p4"
