// SPDX-License-Identifier: MIT OR Apache-2.0
// TCN on Tofino: marks packets whose sojourn time exceeds T; see v1model/tcn.p4.
#include <core.p4>
#include "include/chip.p4"
#include "include/marking.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_SOJOURN = 1;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above;
    bit<32> t = 0;

    action set_params(bit<32> t_ns) {
        t = t_ns;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(200000);
        size = 1;
    }

    apply {
        params.apply();
        above.apply(q.sojourn_ns, t, CAUSE_SOJOURN, decision, cause);
    }
}

#include "include/plain.p4"
