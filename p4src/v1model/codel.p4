// SPDX-License-Identifier: MIT OR Apache-2.0
// CoDel with marks instead of drops (RFC 8289 section 5; as peer in the ECN# paper section 5.1): marks when the sojourn
// time has stayed above `target` for an `interval`, then ever more often, at interval / sqrt(count).
//
// Signal: deq_timedelta; deq_qdepth shows when fewer than two packets are left.
#include <core.p4>
#include <v1model.p4>
#include "include/marking.p4"

const cause_t CAUSE_SOJOURN = 1;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    // State per queue, with the names of RFC 8289 (drop_* is mark_* here). first_above_time: 0 means that the sojourn
    // is below target; a time has a leading 1, because 0 is a valid time. mark_next: in 1/256 us.
    register<bit<49>>(MARKLAB_QUEUES) first_above_time;
    register<bit<1>>(MARKLAB_QUEUES) marking_state;
    register<bit<32>>(MARKLAB_QUEUES) mark_count;
    register<bit<32>>(MARKLAB_QUEUES) last_count;
    register<bit<56>>(MARKLAB_QUEUES) mark_next;

    bit<32> target = 0;
    bit<48> interval = 0;

    action set_params(bit<32> target_us, bit<32> interval_us) {
        target = target_us;
        interval = (bit<48>)interval_us;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(85, 200);
    }

    // control_law: interval / sqrt(count), in 1/256 us, by table. The control plane fills in counts from 1 on; counts
    // beyond its entries get the default, the last step.
    bit<32> count = 0;
    bit<56> step = 0;

    action set_step(bit<32> step_q8) {
        step = (bit<56>)step_q8;
    }

    table interval_by_count {
        key = { count: exact @name("count"); }
        actions = { set_step; }
        default_action = set_step(1600);
        size = 1024;
    }

    apply {
        params.apply();
        bit<32> cell = MARKLAB_QUEUE_CELL(q);
        // Times are compared by the sign of their difference, which stays correct if the clock wraps in between.
        bit<48> now = q.now_us;
        bit<56> now_q8 = now ++ 8w0;

        // dodequeue: has the sojourn been above target for an interval?
        bool ok_to_mark = false;
        bit<49> first_above;
        first_above_time.read(first_above, cell);
        if (q.sojourn_us < target || q.deq_qdepth_pkts <= 1) {
            first_above_time.write(cell, 0);
        } else if (first_above == 0) {
            first_above_time.write(cell, 1w1 ++ (now + interval));
        } else {
            ok_to_mark = (int<48>)(now - first_above[47:0]) >= 0;
        }

        decision = decision_t.PASS;
        cause = 0;
        bit<1> marking;
        marking_state.read(marking, cell);
        bit<56> next;
        mark_next.read(next, cell);
        mark_count.read(count, cell);
        if (marking == 1) {
            if (!ok_to_mark) {
                marking_state.write(cell, 0);
            } else if ((int<56>)(now_q8 - next) >= 0) {
                decision = decision_t.MARK;
                count = count |+| 1;
            }
        } else if (ok_to_mark) {
            decision = decision_t.MARK;
            marking_state.write(cell, 1);
            // If marking ended only recently, continue near the rate that was needed then.
            bit<32> last;
            last_count.read(last, cell);
            bit<32> delta = count - last;
            bool lately = now_q8 - next < (bit<56>)interval << 12; // 16 intervals
            count = 1;
            if (delta > 1 && lately) {
                count = delta;
            }
            last_count.write(cell, count);
            next = now_q8;
        }
        if (decision == decision_t.MARK) {
            cause = CAUSE_SOJOURN;
            mark_count.write(cell, count);
            interval_by_count.apply();
            mark_next.write(cell, next + step);
        }
    }
}

#include "include/switch.p4"
