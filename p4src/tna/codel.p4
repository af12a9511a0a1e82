// CoDel with marks on Tofino: marks when the sojourn time has stayed above `target` for an `interval`, then ever more often,
// at interval / sqrt(count); see v1model/codel.p4.
//
// Unlike there, each episode of marks begins with count 1: what the last one came to would be a third word of the state
// that a mark moves, and a pair has two.
#include <core.p4>
#include <tna.p4>
#include "include/marking.p4"

const cause_t CAUSE_SOJOURN = 1;

// In ticks, a constant since the math unit holds it: 200 us unless the build says otherwise.
#ifndef MARKLAB_INTERVAL_TICKS
#define MARKLAB_INTERVAL_TICKS 3125
#endif
// What one full packet takes.
#define MARKLAB_PACKET_CELLS 19

struct episode_t {
    bit<32> next;              // mark_next
    bit<32> count;             // mark_count that the next mark will have; 0 while the queue is not marked
}

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    // When the sojourn will have been above target for an interval; 0 while it is below. A time that really is 0 is not kept,
    // and the next packet's is.
    Register<int<32>, queue_cell_t>(MARKLAB_QUEUES, 0) first_above_time;
    Register<episode_t, queue_cell_t>(MARKLAB_QUEUES, { 0, 0 }) episode;
    // interval / sqrt(count)
    MathUnit<bit<32>>(MathOp_t.RSQRT, MARKLAB_INTERVAL_TICKS) step;

    bit<32> target = 0;
    int<32> now = 0;
    int<32> in_an_interval = 0;
    bit<32> first_mark = 0;
    bit<32> below_target = 0;
    bit<32> left_behind = 0;
    bit<1> ok_to_mark = 0;
    bit<1> due = 0;

    action set_params(bit<32> target_ns) {
        target = target_ns;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(85000);
        size = 1;
    }

    action look_at_clock() {
        now = (int<32>)q.now_ticks;
        in_an_interval = (int<32>)(q.now_ticks + MARKLAB_INTERVAL_TICKS);
        first_mark = q.now_ticks + MARKLAB_INTERVAL_TICKS;
    }

    action compare() {
        below_target = target |-| q.sojourn_ns;
        left_behind = q.deq_qdepth_cells |-| MARKLAB_PACKET_CELLS;
    }

    // dodequeue: has the sojourn been above target for an interval?
    RegisterAction<int<32>, queue_cell_t, bit<1>>(first_above_time) reset_first_above = {
        void apply(inout int<32> first_above, out bit<1> ok) {
            first_above = 0;
            ok = 0;
        }
    };
    RegisterAction<int<32>, queue_cell_t, bit<1>>(first_above_time) check_first_above = {
        void apply(inout int<32> first_above, out bit<1> ok) {
            ok = 0;
            if (first_above == 0) {
                first_above = in_an_interval;
            } else if (now - first_above >= 0) {
                ok = 1;
            }
        }
    };

    RegisterAction<episode_t, queue_cell_t, bit<1>>(episode) end_episode = {
        void apply(inout episode_t e, out bit<1> mark) {
            e.count = 0;
            mark = 0;
        }
    };
    RegisterAction<episode_t, queue_cell_t, bit<1>>(episode) go_on = {
        void apply(inout episode_t e, out bit<1> mark) {
            mark = 0;
            if (e.count == 0) {
                e.next = first_mark;
                e.count = 2;
                mark = 1;
            } else if (now - (int<32>)e.next >= 0) {
                e.next = e.next + step.execute(e.count);
                e.count = e.count + 1;
                mark = 1;
            }
        }
    };

    apply {
        decision = decision_t.PASS;
        cause = 0;
        params.apply();
        look_at_clock();
        compare();
        if (below_target != 0 || left_behind == 0) {
            ok_to_mark = reset_first_above.execute(q.cell);
        } else {
            ok_to_mark = check_first_above.execute(q.cell);
        }
        if (ok_to_mark == 0) {
            due = end_episode.execute(q.cell);
        } else {
            due = go_on.execute(q.cell);
        }
        if (due == 1) {
            decision = decision_t.MARK;
            cause = CAUSE_SOJOURN;
        }
    }
}

#include "include/switch.p4"
