// SPDX-License-Identifier: MIT OR Apache-2.0
// ECN# on Tofino (ECN# paper section 4): marks on a large instantaneous queue, and one packet per interval on a
// persistent one; see v1model/ecn-sharp.p4.
//
// Each state is one register, read and written once per packet. The sum that Algorithm 1 computes mark by mark,
//
//     marking_next += pst_interval / marking_count,
//
// would need two numbers that depend on each other. But mark n + 1 is due when pst_interval * (1 + 1/2 + ... + 1/n) has
// passed since the first one. So a table over that time gives the number of marks that are due, and a register has the
// number of marks made. No division errors add up; the paper's math unit is off by up to 12 % at each mark.
#include <core.p4>
#include "include/chip.p4"
#include "include/marking.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_INSTANTANEOUS = 1;
const cause_t CAUSE_PERSISTENT = 2;

// Number of due marks at which every packet is marked.
const bit<32> ALL = 0xffffffff;

// Lowest of the twenty bits of an episode's age that a table looks up; a range begins at a multiple of four bits.
#ifndef MARKLAB_ELAPSED_BIT
#define MARKLAB_ELAPSED_BIT 0
#endif

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above_ins;
    // State per queue. first_above_time and marking_count as in Table 2; first_mark_time: when this episode of marks
    // began. 0 means none: a time that happens to be 0 counts as none, and the next packet stores its own.
    Register<int<32>, queue_cell_t>(MARKLAB_QUEUES, 0) first_above_time;
    Register<bit<32>, queue_cell_t>(MARKLAB_QUEUES, 0) first_mark_time;
    Register<bit<32>, queue_cell_t>(MARKLAB_QUEUES, 0) marking_count;

    bit<32> signal = 0;
    bit<32> ins_target = 0;
    bit<32> pst_target = 0;
    int<32> an_interval_ago = 0;
    bit<32> below_pst = 0;
    bit<1> detected = 0;
    bit<32> elapsed = 0;
    bit<32> marks_due = 0;
    bit<1> is_due = 0;

    // minus_interval_ns: 2^32 - pst_interval, since the chip adds constants.
    action set_params(bit<32> ins_ns, bit<32> pst_ns, bit<32> minus_interval_ns) {
        signal = q.sojourn_ns;
        ins_target = ins_ns;
        pst_target = pst_ns;
        an_interval_ago = (int<32>)(q.now_ns + minus_interval_ns);
    }

    // The signal is the queue's length.
    action set_length_params(bit<32> ins_cells, bit<32> pst_cells, bit<32> minus_interval_ns) {
        signal = q.enq_qdepth_cells;
        ins_target = ins_cells;
        pst_target = pst_cells;
        an_interval_ago = (int<32>)(q.now_ns + minus_interval_ns);
    }

    table params {
        actions = { set_params; set_length_params; }
        default_action = set_params(200000, 85000, 4294767296);
        size = 1;
    }

    action compare() {
        below_pst = pst_target |-| signal;
    }

    // IsPersistentQueueBuildups
    RegisterAction<int<32>, queue_cell_t, bit<1>>(first_above_time) reset_first_above = {
        void apply(inout int<32> first_above) {
            first_above = 0;
        }
    };
    RegisterAction<int<32>, queue_cell_t, bit<1>>(first_above_time) check_first_above = {
        void apply(inout int<32> first_above, out bit<1> is_persistent) {
            if (first_above == 0) {
                first_above = (int<32>)q.now_ns;
                is_persistent = 0;
            } else if (an_interval_ago - first_above > 0) {
                is_persistent = 1;
            } else {
                is_persistent = 0;
            }
        }
    };

    // ShouldPersistentMark
    RegisterAction<bit<32>, queue_cell_t, bit<32>>(first_mark_time) end_episode = {
        void apply(inout bit<32> began) {
            began = 0;
        }
    };
    RegisterAction<bit<32>, queue_cell_t, bit<32>>(first_mark_time) go_on = {
        void apply(inout bit<32> began, out bit<32> since) {
            if (began == 0) {
                began = q.now_ns;
                since = 0;
            } else {
                since = q.now_ns - began;
            }
        }
    };

    action set_due(bit<32> marks) {
        marks_due = marks;
    }

    // Marks that are due, by the time since the first one.
    table marks_by_time {
        key = { elapsed[MARKLAB_ELAPSED_BIT + 19:MARKLAB_ELAPSED_BIT]: range @name("elapsed"); }
        actions = { set_due; }
        default_action = set_due(ALL);
        size = 1024;
    }

    RegisterAction<bit<32>, queue_cell_t, bit<1>>(marking_count) reset_count = {
        void apply(inout bit<32> count) {
            count = 0;
        }
    };
    RegisterAction<bit<32>, queue_cell_t, bit<1>>(marking_count) next_mark = {
        void apply(inout bit<32> count, out bit<1> mark) {
            if (count < marks_due) {
                count = count + 1;
                mark = 1;
            } else {
                mark = 0;
            }
        }
    };

    apply {
        params.apply();
        compare();
        if (below_pst != 0) {
            reset_first_above.execute(q.cell);
        } else {
            detected = check_first_above.execute(q.cell);
        }
        if (detected == 0) {
            end_episode.execute(q.cell);
            reset_count.execute(q.cell);
        } else {
            elapsed = go_on.execute(q.cell);
            if (elapsed[31:MARKLAB_ELAPSED_BIT + 20] == 0) {
                marks_by_time.apply();
            } else {
                set_due(ALL);
            }
            is_due = next_mark.execute(q.cell);
        }
        above_ins.apply(signal, ins_target, CAUSE_INSTANTANEOUS, decision, cause);
        if (decision == decision_t.PASS && is_due == 1) {
            decision = decision_t.MARK;
            cause = CAUSE_PERSISTENT;
        }
    }
}

#include "include/plain.p4"
