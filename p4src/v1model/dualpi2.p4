// SPDX-License-Identifier: MIT OR Apache-2.0
// DualPI2 (RFC 9332, appendix A): a queue for scalable congestion controls (L) beside one for classic ones (C), coupled
// by a base probability p' that a PI controller adjusts once per period by the longer of their delays:
//
//     p' = p' + alpha (delay - target) + beta (delay - delay before), within 0 and 1
//     C: dropped, or marked if ECT(0), with probability p'^2
//     L: marked if it waited longer than the step, or with probability k p'
//
// From k p' = 1 on (overload, appendix A.2), packets of L are dropped with p'^2 as well, the others of L are marked, and C
// marks no more. Signal: deq_timedelta, at dequeue, where the RFC decides too. The RFC's recur() stands in for random
// numbers. Which queue is next decides the port's scheduler: weighted turns, which the RFC's section 4.2.2 allows.
#include <core.p4>
#include <v1model.p4>
#include "include/headers.p4"
#include "include/marking.p4"
#include "include/periods.p4"

#define MARKLAB_CLASSIFIES

const cause_t CAUSE_STEP = 1;     // L: it waited longer than the step
const cause_t CAUSE_COUPLED = 2;  // L: the coupled probability
const cause_t CAUSE_CLASSIC = 3;  // C: the base probability, squared
const cause_t CAUSE_OVERLOAD = 4; // either: the coupled probability is 1

const bit<7> CLASSIC_QUEUE = 0;
const bit<7> L4S_QUEUE = 1;

// 1 in 2^-40, in which p' is kept, and in 2^-32, in which packets are counted.
const int<96> CERTAIN = 0x10000000000;
const bit<96> ONE_Q32 = 0x100000000;

// Section 5.1 of RFC 9331: ECT(1), and CE, which was ECT(1) or may have been.
control Classifier(in ecn_t ecn, out bit<7> queue) {
    apply {
        queue = ecn == ecn_t.ECT1 || ecn == ecn_t.CE ? L4S_QUEUE : CLASSIC_QUEUE;
    }
}

// The RFC's recur(): true for every 1/probability-th packet of a queue.
control Recur(in bit<32> cell, in bit<33> probability_q32, out bool hit) {
    register<bit<32>>(MARKLAB_QUEUES) count;

    apply {
        bit<32> before;
        count.read(before, cell);
        bit<33> sum = (bit<33>)before + probability_q32;
        count.write(cell, sum[31:0]);
        hit = sum[32:32] == 1;
    }
}

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Periods() periods;
    Recur() recur;
    // Per port: p' in 2^-40, and the delay at the last update.
    register<bit<48>>(MARKLAB_PORTS) base_probability;
    register<bit<32>>(MARKLAB_PORTS) old_delay;
    // Per queue: how long its latest packet waited; 0 if that left it empty.
    register<bit<32>>(MARKLAB_QUEUES) waited;

    int<96> target = 0;
    int<96> alpha = 0;
    int<96> beta = 0;
    bit<96> coupling_q16 = 0;
    bit<32> step = 0;
    bit<19> step_left = 0;

    // alpha and beta in 2^-40 per us, the coupling factor k in 2^-16. step_left_pkts: the step marks no packet that
    // leaves fewer behind (Th_len).
    action set_params(bit<32> target_us, bit<40> alpha_q40, bit<40> beta_q40, bit<32> k_q16, bit<32> step_us,
                      bit<19> step_left_pkts) {
        target = (int<96>)(bit<96>)target_us;
        alpha = (int<96>)(bit<96>)alpha_q40;
        beta = (int<96>)(bit<96>)beta_q40;
        coupling_q16 = (bit<96>)k_q16;
        step = step_us;
        step_left = step_left_pkts;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(15000, 164927, 3298535, 131072, 1000, 1);
    }

    int<96> p = 0;

    action limit_p() {
        p = p < 0 ? 0 : p;
        p = p > CERTAIN ? CERTAIN : p;
    }

    apply {
        params.apply();
        bit<32> port = (bit<32>)q.port;
        bit<32> cell = MARKLAB_QUEUE_CELL(q);

        // The delay of the packet that is first in its queue; that of the other queue is what its latest packet met.
        bit<32> other;
        waited.read(other, (bit<32>)((q.queue ^ 1) ++ q.port));
        waited.write(cell, q.deq_qdepth_pkts == 0 ? 0 : q.sojourn_us);
        bit<32> delay_us = q.sojourn_us > other ? q.sojourn_us : other;

        // Periods of the port, by the time of departure: v1model has no timer.
        queue_signals_t of_port = q;
        of_port.queue = 0;
        of_port.sojourn_us = 0;
        bit<32> ended;
        periods.apply(of_port, ended);
        bit<48> stored;
        base_probability.read(stored, port);
        if (ended != 0) {
            bit<32> old_us;
            old_delay.read(old_us, port);
            p = (int<96>)(bit<96>)stored;
            int<96> delay = (int<96>)(bit<96>)delay_us;
            int<96> old = (int<96>)(bit<96>)old_us;
            if (ended > 1) {
                // In a period without departures both queues were empty: a line sends while something waits. p' only
                // falls then, so its limit may come last.
                p = p - beta * old - alpha * target * (int<96>)(bit<96>)(ended - 1);
                limit_p();
                old = 0;
            }
            p = p + alpha * (delay - target) + beta * (delay - old);
            limit_p();
            stored = (bit<48>)(bit<96>)p;
            base_probability.write(port, stored);
            old_delay.write(port, delay_us);
        }

        bit<96> base_q32 = (bit<96>)(stored >> 8);
        bit<96> square_q32 = (base_q32 * base_q32) >> 32;
        bit<96> coupled_q32 = (base_q32 * coupling_q16) >> 16;
        bool overload = coupled_q32 >= ONE_Q32;
        bool above_step = q.sojourn_us > step && q.deq_qdepth_pkts >= step_left;

        bit<33> probability = (bit<33>)square_q32;
        if (q.queue == L4S_QUEUE && !overload) {
            probability = above_step ? (bit<33>)ONE_Q32 : (bit<33>)coupled_q32;
        }
        bool hit;
        recur.apply(cell, probability, hit);

        decision = decision_t.PASS;
        cause = 0;
        if (overload) {
            if (hit) {
                decision = decision_t.DROP;
            } else if (q.queue == L4S_QUEUE) {
                decision = decision_t.MARK;
            }
            cause = decision == decision_t.PASS ? 0 : CAUSE_OVERLOAD;
        } else if (hit) {
            if (q.queue == L4S_QUEUE) {
                decision = decision_t.MARK;
                cause = above_step ? CAUSE_STEP : CAUSE_COUPLED;
            } else {
                decision = decision_t.MARK_OR_DROP;
                cause = CAUSE_CLASSIC;
            }
        }
    }
}

#include "include/switch.p4"
