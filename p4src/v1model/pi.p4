// SPDX-License-Identifier: MIT OR Apache-2.0
// PI (Hollot, Misra, Towsley and Gong, INFOCOM 2001): marks with a probability that a proportional-integral controller
// adjusts once per period, by the present and the previous distance of the queue from q_ref:
//
//     p(k) = p(k-1) + a (q(k) - q_ref) - b (q(k-1) - q_ref), within 0 and 1
//
// Signal: enq_qdepth, at the time of arrival: decisions equal those of a controller at enqueue, one sojourn later.
// Periods that ended without a packet are all assumed to have ended with the queue that the next packet finds.
#include <core.p4>
#include <v1model.p4>
#include "include/marking.p4"
#include "include/not_ect.p4"
#include "include/periods.p4"

const cause_t CAUSE_PROBABILITY = 1;

// Probabilities are in 2^-40: for an error of 1 packet, a - b is 2^-17 on slow lines, and less on fast ones.
const int<96> CERTAIN = 0x10000000000;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Periods() periods;
    // State per queue: probability, in 2^-40, and the queue's length at the last update.
    register<bit<48>>(MARKLAB_QUEUES) probability;
    register<bit<19>>(MARKLAB_QUEUES) old_length;

    int<96> q_ref = 0;
    int<96> gain_new = 0;
    int<96> gain_old = 0;

    // a and b in 2^-40.
    action set_params(bit<19> q_ref_pkts, bit<40> a_q40, bit<40> b_q40) {
        q_ref = (int<96>)(bit<96>)q_ref_pkts;
        gain_new = (int<96>)(bit<96>)a_q40;
        gain_old = (int<96>)(bit<96>)b_q40;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(50, 20033102, 19967131);
    }

    int<96> p = 0;

    action limit_p() {
        p = p < 0 ? 0 : p;
        p = p > CERTAIN ? CERTAIN : p;
    }

    apply {
        params.apply();
        bit<32> cell = MARKLAB_QUEUE_CELL(q);
        bit<48> stored;
        probability.read(stored, cell);
        bit<32> ended;
        periods.apply(q, ended);
        if (ended != 0) {
            bit<19> old;
            old_length.read(old, cell);
            int<96> excess = (int<96>)(bit<96>)q.enq_qdepth_pkts - q_ref;
            int<96> old_excess = (int<96>)(bit<96>)old - q_ref;
            p = (int<96>)(bit<96>)stored + gain_new * excess - gain_old * old_excess;
            limit_p();
            // Further periods found the same queue, so each adds the same amount; applying the limits once is enough.
            p = p + (int<96>)(bit<96>)(ended - 1) * (gain_new - gain_old) * excess;
            limit_p();
            stored = (bit<48>)(bit<96>)p;
            probability.write(cell, stored);
            old_length.write(cell, q.enq_qdepth_pkts);
        }

        decision = decision_t.PASS;
        cause = 0;
        bit<32> draw;
        random(draw, 32w0, 32w0xffffffff);
        if (draw ++ 8w0 < stored[39:0] || stored[40:40] == 1) {
            decision = decision_t.MARK;
            cause = CAUSE_PROBABILITY;
        }
    }
}

#include "include/switch.p4"
