// SPDX-License-Identifier: MIT OR Apache-2.0
// The switch of ACC (Yan et al., SIGCOMM 2021): marks by the instantaneous queue between two thresholds, which each port
// has of its own. Up to k_min no packet is marked, above k_max every packet, and in between with a probability that
// rises to p_max. A control plane tunes the thresholds of a port by writing its entry; a port without one has the
// default action. controllers/acc.py is such a control plane.
//
// Signal: enq_qdepth, as in dctcp-red.p4.
#include <core.p4>
#include <v1model.p4>
#include "include/marking.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_LENGTH = 1;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above;
    bit<32> k_min = 0;
    bit<32> k_max = 0;
    bit<32> slope = 0;

    // slope_q32 = p_max / (k_max - k_min) per packet, in 2^-32; of no effect if the thresholds are equal.
    action set_params(bit<19> k_min_pkts, bit<19> k_max_pkts, bit<32> slope_q32) {
        k_min = (bit<32>)k_min_pkts;
        k_max = (bit<32>)k_max_pkts;
        slope = slope_q32;
    }

    table params {
        key = { q.port: exact @name("port"); }
        actions = { set_params; }
        default_action = set_params(167, 167, 0);
        size = MARKLAB_PORTS;
    }

    apply {
        params.apply();
        bit<32> length = (bit<32>)q.enq_qdepth_pkts;
        above.apply(length, k_min, CAUSE_LENGTH, decision, cause);
        if (decision == decision_t.MARK && length <= k_max) {
            bit<32> draw;
            random(draw, 32w0, 32w0xffffffff);
            if ((bit<64>)draw >= (bit<64>)(length - k_min) * (bit<64>)slope) {
                decision = decision_t.PASS;
                cause = 0;
            }
        }
    }
}

#include "include/switch.p4"
