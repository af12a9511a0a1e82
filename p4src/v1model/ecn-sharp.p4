// SPDX-License-Identifier: MIT OR Apache-2.0
// ECN#: marks on a large instantaneous queue, and one packet per interval on a persistent one (ECN# paper section 3.2,
// Algorithm 1, Table 2).
//
// Signal: deq_timedelta (sojourn), or enq_qdepth (queue length) if `by_length` is 1; both targets are then in packets.
// In a single queue the two are the same (section 3.5): n packets take n packet times to pass.
//
// With two instantaneous thresholds, of which ins_target is the lower one, it marks with a probability between them
// (section 3.5).
#include <core.p4>
#include <v1model.p4>
#include "include/marking.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_INSTANTANEOUS = 1;
const cause_t CAUSE_PERSISTENT = 2;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above;
    // State per queue, with the names of Table 2. first_above_time: 0 means that the signal is below pst_target; a time
    // has a leading 1, because 0 is a valid time. marking_next: in 1/256 us.
    register<bit<49>>(MARKLAB_QUEUES) first_above_time;
    register<bit<1>>(MARKLAB_QUEUES) marking_state;
    register<bit<32>>(MARKLAB_QUEUES) marking_count;
    register<bit<56>>(MARKLAB_QUEUES) marking_next;

    bit<1> by_length = 0;
    bit<32> ins_target = 0;
    bit<32> pst_target = 0;
    bit<48> pst_interval = 0;
    bit<1> from_now = 0;

    // ins and pst: in us, or in packets if by_queue_length is 1.
    // from_now: the next mark is scheduled from the present one, as in the authors' simulator, and not from the time
    // that was scheduled for it, as in Algorithm 1.
    action set_params(bit<1> by_queue_length, bit<32> ins, bit<32> pst, bit<32> pst_interval_us, bit<1> next_from_now) {
        by_length = by_queue_length;
        ins_target = ins;
        pst_target = pst;
        pst_interval = (bit<48>)pst_interval_us;
        from_now = next_from_now;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(0, 200, 85, 200, 0);
    }

    bit<32> k_max = 0;
    bit<32> slope = 0;

    // Every packet above `max`, in the unit of ins, is marked. From ins_target up to `max`, the probability grows by
    // slope_q32 / 2^32 with each step of the signal.
    action set_probability(bit<32> max, bit<32> slope_q32) {
        k_max = max;
        slope = slope_q32;
    }

    // Applied only to packets above ins_target.
    table probabilities {
        actions = { set_probability; }
        default_action = set_probability(0, 0);
    }

    // pst_interval / marking_count, in 1/256 us, by table: no target divides at run time. The control plane fills in
    // counts from 2 on; counts beyond its entries get the default, the last step.
    bit<32> count = 0;
    bit<56> step = 0;

    action set_step(bit<32> step_q8) {
        step = (bit<56>)step_q8;
    }

    table interval_by_count {
        key = { count: exact @name("count"); }
        actions = { set_step; }
        default_action = set_step(50);
        size = 1024;
    }

    apply {
        params.apply();
        bit<32> cell = MARKLAB_QUEUE_CELL(q);
        bit<32> signal = q.sojourn_us;
        if (by_length == 1) {
            signal = (bit<32>)q.enq_qdepth_pkts;
        }
        // Times are compared by their difference, which stays correct if the clock wraps in between.
        bit<48> now = q.now_us;
        bit<56> now_q8 = now ++ 8w0;

        // IsPersistentQueueBuildups
        bool detected = false;
        bit<49> first_above;
        first_above_time.read(first_above, cell);
        if (signal < pst_target) {
            first_above_time.write(cell, 0);
        } else if (first_above == 0) {
            first_above_time.write(cell, 1w1 ++ now);
        } else {
            detected = now - first_above[47:0] > pst_interval;
        }

        // ShouldPersistentMark
        bool persistent = false;
        bit<1> marking;
        marking_state.read(marking, cell);
        if (marking == 1) {
            bit<56> next;
            marking_next.read(next, cell);
            if (!detected) {
                marking_state.write(cell, 0);
            } else if ((int<56>)(now_q8 - next) > 0) {
                marking_count.read(count, cell);
                count = count |+| 1;
                marking_count.write(cell, count);
                interval_by_count.apply();
                if (from_now == 1) {
                    next = now_q8;
                }
                marking_next.write(cell, next + step);
                persistent = true;
            }
        } else if (detected) {
            marking_state.write(cell, 1);
            marking_count.write(cell, 1);
            marking_next.write(cell, now_q8 + (pst_interval ++ 8w0));
            persistent = true;
        }

        above.apply(signal, ins_target, CAUSE_INSTANTANEOUS, decision, cause);
        if (decision == decision_t.MARK) {
            probabilities.apply();
            if (signal <= k_max) {
                bit<32> draw;
                random(draw, 32w0, 32w0xffffffff);
                if ((bit<64>)draw >= (bit<64>)(signal - ins_target) * (bit<64>)slope) {
                    decision = decision_t.PASS;
                    cause = 0;
                }
            }
        }
        if (decision == decision_t.PASS && persistent) {
            decision = decision_t.MARK;
            cause = CAUSE_PERSISTENT;
        }
    }
}

#include "include/switch.p4"
