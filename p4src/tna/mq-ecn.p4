// SPDX-License-Identifier: MIT OR Apache-2.0
// MQ-ECN on Tofino: marks a queue that is longer than what its share of the line needs, known from the time that a round of
// the scheduler takes; see v1model/mq-ecn.p4.
//
// All registers are accessed once per packet. A turn's beginning is kept per port, where the next packet asks for it, and
// what it begins from per queue. A new T_round is known behind where it is read, so that a note takes it there, and with it
// what remains of it at a sample. A packet that ends two turns leaves the second sample to its note, which makes one of its
// own. The share of the line is looked up by T_round, as nothing divides.
//
// Registers calculate where they can: fields that one calculation after the other connects must fit into 16 containers.
#include <core.p4>
#include <tna.p4>

#define MARKLAB_NOTES
#include "include/marking.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_STANDARD = 1;
const cause_t CAUSE_SHARE = 2;

const bit<32> NO_LIMIT = 0xffffffff;

// 1 - beta is 2^-MARKLAB_GAIN_SHIFT, and T_round is in parts of a nanosecond of that size: what a sample adds to it then is
// the sample in nanoseconds.
#ifndef MARKLAB_GAIN_SHIFT
#define MARKLAB_GAIN_SHIFT 2
#endif
// Twenty bits of T_round are looked up, from this one on.
#ifndef MARKLAB_ROUND_BIT
#define MARKLAB_ROUND_BIT 0
#endif

// Whether a turn leaves its deficit to the next one, as in DWRR.
#ifndef MARKLAB_CARRIES
#define MARKLAB_CARRIES 1
#endif

// What a note brings: T_round, and a sample for it; T_round is what `step` leaves of it first.
const bit<8> ROUND = 1;
const bit<8> ROUND_AND_SAMPLE = 2;
const bit<8> SAMPLE = 3;

typedef bit<9> port_cell_t;

// p4c splits a field that is only copied, and what goes into a register must lie in one container.
@pa_atomic("egress", "marking_end")
control Marking(in queue_signals_t q, in noted_t noted, inout note_t note, out decision_t decision, out cause_t cause) {
    Threshold() above_line;
    Threshold() above_share;
    // State per port. kept_round: beta * T_round. last_turn: the queue of the packet before, with a 1 before it while that
    // queue's turn goes on. last_time: when that packet left its queue, kept twice, as a register has one answer. turn_pre:
    // when that queue's turn before ended.
    Register<bit<32>, port_cell_t>(MARKLAB_PORTS, 0) t_round;
    Register<bit<32>, port_cell_t>(MARKLAB_PORTS, 0) kept_round;
    Register<bit<8>, port_cell_t>(MARKLAB_PORTS, 0) last_turn;
    Register<bit<32>, port_cell_t>(MARKLAB_PORTS, 0) last_time;
    Register<bit<32>, port_cell_t>(MARKLAB_PORTS, 0) idle_time;
    Register<bit<32>, port_cell_t>(MARKLAB_PORTS, 0) turn_pre;
    // State per queue. left_time: when its last packet left. deficit: bytes that its turn may still send.
    Register<bit<32>, queue_cell_t>(MARKLAB_QUEUES, 0) left_time;
    Register<int<32>, queue_cell_t>(MARKLAB_QUEUES, 0) deficit;

    bit<32> k = 0;
    bit<1> takes_turns = 0;
    bit<8> own_turn = 0;
    int<32> length = 0;
    int<32> quantum_less_length = 0;
    bit<32> waited = 0;
    bit<8> turn = 0;
    bit<32> last_at = 0;
    bit<32> left_at = 0;
    bit<32> since_last = 0;
    bit<1> goes_on = 0;
    bit<32> pre = 0;
    bit<32> end = 0;
    bit<32> sample = 0;
    bit<1> has_sample = 0;
    bit<32> half = 0;
    bit<32> quarter = 0;
    bit<32> eighth = 0;
    bit<32> sixteenth = 0;
    bit<32> rest = 0;
    bit<32> lost = 0;
    bit<32> kept = 0;
    bit<32> round = 0;
    bit<32> k_share = NO_LIMIT;

    action set_params(bit<32> k_cells) {
        k = k_cells;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(1235);
        size = 1;
    }

    // Takes turns with others.
    action set_quantum(int<32> quantum_bytes) {
        takes_turns = 1;
        own_turn = 1w1 ++ q.queue;
        length = (int<32>)(bit<32>)q.length_bytes;
        quantum_less_length = quantum_bytes - (int<32>)(bit<32>)q.length_bytes;
    }

    // Comes before those that take turns (section 3.4).
    action set_strict() {
        takes_turns = 0;
    }

    table quanta {
        key = { q.queue: exact @name("queue"); }
        actions = { set_quantum; set_strict; }
        default_action = set_strict();
        size = 128;
    }

    // A microsecond in the queue is none.
    action compare() {
        waited = q.sojourn_ns |-| 999;
    }

    // The packet before on this port.
    RegisterAction<bit<8>, port_cell_t, bit<8>>(last_turn) go_on_with_turn = {
        void apply(inout bit<8> t, out bit<8> found) {
            found = t;
            t = own_turn;
        }
    };
    RegisterAction<bit<8>, port_cell_t, bit<8>>(last_turn) end_turn = {
        void apply(inout bit<8> t, out bit<8> found) {
            found = t;
            t = 0;
        }
    };
    RegisterAction<bit<32>, port_cell_t, bit<32>>(last_time) leave_port = {
        void apply(inout bit<32> at, out bit<32> found) {
            found = at;
            at = q.now_ns;
        }
    };
    RegisterAction<bit<32>, port_cell_t, bit<32>>(idle_time) pass = {
        void apply(inout bit<32> at, out bit<32> since) {
            since = q.now_ns - at;
            at = q.now_ns;
        }
    };
    RegisterAction<bit<32>, queue_cell_t, bit<32>>(left_time) leave_queue = {
        void apply(inout bit<32> at, out bit<32> found) {
            found = at;
            at = q.now_ns;
        }
    };

    // The scheduler's account of this turn: whether the turn of the packet before, if it is this queue's, goes on.
    RegisterAction<int<32>, queue_cell_t, bit<1>>(deficit) account_empty = {
        void apply(inout int<32> left, out bit<1> enough) {
            enough = 0;
            if (left - length >= 0) {
                enough = 1;
            }
            left = 0;
        }
    };
    RegisterAction<int<32>, queue_cell_t, bit<1>>(deficit) account_same = {
        void apply(inout int<32> left, out bit<1> enough) {
            enough = 0;
            if (left - length >= 0) {
                left = left - length;
                enough = 1;
            } else {
#if MARKLAB_CARRIES
                left = left + quantum_less_length;
#else
                left = quantum_less_length;
#endif // MARKLAB_CARRIES
            }
        }
    };
    RegisterAction<int<32>, queue_cell_t, bit<1>>(deficit) account_next = {
        void apply(inout int<32> left, out bit<1> enough) {
            enough = 0;
#if MARKLAB_CARRIES
            if (left + quantum_less_length >= 0) {
                left = left + quantum_less_length;
            } else {
                left = 0;
            }
#else
            left = quantum_less_length;
#endif // MARKLAB_CARRIES
        }
    };
    RegisterAction<int<32>, queue_cell_t, bit<1>>(deficit) account_first = {
        void apply(inout int<32> left, out bit<1> enough) {
            enough = 0;
            left = quantum_less_length;
        }
    };

    // How much of T_round is left after idle time.
    action set_step(bit<8> step) {
        note.step = step;
    }

    // beta^n, for a port that was idle for n times T_idle.
    table step_by_idle {
        key = { since_last[19:0]: range @name("since_last_ns"); }
        actions = { set_step; }
        default_action = set_step(10);
        size = 64;
    }

    action begin_with_arrival() {
        pre = q.arrival_ns;
    }

    action begin_with_turn_before() {
        pre = left_at;
    }

    action end_with_this() {
        end = q.now_ns;
    }

    action end_with_last() {
        end = last_at;
    }

    // T_sample of the turn that goes on, if it ends with this packet; and that of the turn before this packet's.
    RegisterAction<bit<32>, port_cell_t, bit<32>>(turn_pre) look_at_turn = {
        void apply(inout bit<32> at, out bit<32> since) {
            since = end - at;
        }
    };
    RegisterAction<bit<32>, port_cell_t, bit<32>>(turn_pre) begin_turn = {
        void apply(inout bit<32> at, out bit<32> since) {
            since = end - at;
            at = pre;
        }
    };

    // T_sample of this packet's turn, if it begins and ends with it.
    action sample_this() {
        note.ns = q.now_ns - pre;
    }

    action add_to_round() {
        has_sample = 1;
        note.written = 1;
        note.what = ROUND;
    }

    action add_two() {
        has_sample = 1;
        note.written = 1;
        note.what = ROUND_AND_SAMPLE;
    }

    action keep_round() {
        note.written = 1;
        note.what = ROUND;
    }

    action add_later() {
        note.written = 1;
        note.what = ROUND_AND_SAMPLE;
    }

    action divide_round() {
        half = noted.value >> 1;
        quarter = noted.value >> 2;
        eighth = noted.value >> 3;
        sixteenth = noted.value >> 4;
    }

    action keep_all() {
        rest = noted.value;
    }

    action keep_7_8() {
        rest = noted.value - eighth;
    }

    action keep_3_4() {
        rest = noted.value - quarter;
    }

    action keep_9_16() {
        rest = half + sixteenth;
    }

    action keep_7_16() {
        rest = half - sixteenth;
    }

    action keep_5_16() {
        rest = quarter + sixteenth;
    }

    action keep_1_4() {
        rest = quarter;
    }

    action keep_3_16() {
        rest = eighth + sixteenth;
    }

    action keep_1_8() {
        rest = eighth;
    }

    action keep_1_16() {
        rest = sixteenth;
    }

    action keep_nothing() {
        rest = 0;
    }

    table rest_by_step {
        key = { noted.step: exact @name("step"); }
        actions = {
            keep_all; keep_7_8; keep_3_4; keep_9_16; keep_7_16; keep_5_16; keep_1_4; keep_3_16; keep_1_8; keep_1_16; keep_nothing;
        }
        const default_action = keep_nothing();
        const entries = {
            0: keep_all();
            1: keep_7_8();
            2: keep_3_4();
            3: keep_9_16();
            4: keep_7_16();
            5: keep_5_16();
            6: keep_1_4();
            7: keep_3_16();
            8: keep_1_8();
            9: keep_1_16();
        }
        size = 16;
    }

    action lose_part() {
        lost = rest >> MARKLAB_GAIN_SHIFT;
    }

    action keep_part() {
        kept = rest - lost;
    }

    action take_sample() {
        sample = noted.value;
        has_sample = 1;
        note.written = 1;
        note.what = ROUND;
    }

    action pass_sample_on() {
        note.written = 1;
        note.what = SAMPLE;
        note.value = noted.ns;
    }

    // T_round = beta * T_round + (1 - beta) * T_sample (Eq. 6).
    RegisterAction<bit<32>, port_cell_t, bit<32>>(kept_round) add_sample = {
        void apply(inout bit<32> r, out bit<32> sum) {
            sum = r + sample;
        }
    };
    RegisterAction<bit<32>, port_cell_t, bit<32>>(kept_round) set_kept = {
        void apply(inout bit<32> r) {
            r = kept;
        }
    };
    RegisterAction<bit<32>, port_cell_t, bit<32>>(t_round) get_round = {
        void apply(inout bit<32> r, out bit<32> found) {
            found = r;
        }
    };
    RegisterAction<bit<32>, port_cell_t, bit<32>>(t_round) set_round = {
        void apply(inout bit<32> r) {
            r = rest;
        }
    };

    action tell_round() {
        note.value = round;
    }

    action set_share(bit<32> k_cells) {
        k_share = k_cells;
    }

    // quantum / T_round * RTT * lambda.
    table share_by_round {
        key = {
            q.queue: exact @name("queue");
            round[MARKLAB_ROUND_BIT + 19:MARKLAB_ROUND_BIT]: range @name("round");
        }
        actions = { set_share; }
        default_action = set_share(NO_LIMIT);
        size = 2048;
    }

    apply {
        if (noted.isValid()) {
            divide_round();
            rest_by_step.apply();
            lose_part();
            keep_part();
            if (noted.what == SAMPLE) {
                take_sample();
            } else if (noted.what == ROUND_AND_SAMPLE) {
                pass_sample_on();
            }
        } else {
            params.apply();
            quanta.apply();
            compare();
            if (takes_turns == 1) {
                last_at = leave_port.execute(q.port);
                since_last = pass.execute(q.port);
                left_at = leave_queue.execute(q.cell);
                if (q.deq_qdepth_cells == 0) {
                    turn = end_turn.execute(q.port);
                } else {
                    turn = go_on_with_turn.execute(q.port);
                }
                if (q.deq_qdepth_cells == 0) {
                    goes_on = account_empty.execute(q.cell);
                } else if (turn == own_turn) {
                    goes_on = account_same.execute(q.cell);
                } else if (q.enq_qdepth_cells != 0) {
                    goes_on = account_next.execute(q.cell);
                } else {
                    goes_on = account_first.execute(q.cell);
                }
                if (q.enq_qdepth_cells == 0) {
                    begin_with_arrival();
                } else {
                    begin_with_turn_before();
                }
                sample_this();
                if (turn == own_turn && goes_on == 1) {
                    end_with_this();
                } else {
                    end_with_last();
                }
                if (turn == own_turn && goes_on == 1) {
                    sample = look_at_turn.execute(q.port);
                } else {
                    sample = begin_turn.execute(q.port);
                }
                if (waited == 0) {
                    if (since_last[31:20] == 0) {
                        step_by_idle.apply();
                    } else {
                        set_step(10);
                    }
                    if (q.deq_qdepth_cells == 0) {
                        add_later();
                    } else {
                        keep_round();
                    }
                } else if (turn == own_turn && goes_on == 1) {
                    if (q.deq_qdepth_cells == 0) {
                        add_to_round();
                    }
                } else if (turn != 0) {
                    if (q.deq_qdepth_cells == 0) {
                        add_two();
                    } else {
                        add_to_round();
                    }
                } else if (q.deq_qdepth_cells == 0) {
                    add_later();
                }
            }
        }
        if (noted.isValid() && noted.what != SAMPLE) {
            set_round.execute(q.port);
            set_kept.execute(q.port);
        } else {
            if (has_sample == 1) {
                round = add_sample.execute(q.port);
            } else {
                round = get_round.execute(q.port);
            }
            tell_round();
        }
        if (round[31:MARKLAB_ROUND_BIT + 20] == 0) {
            share_by_round.apply();
        } else {
            set_share(0);
        }
        above_line.apply(q.enq_qdepth_cells, k, CAUSE_STANDARD, decision, cause);
        if (decision == decision_t.PASS && takes_turns == 1) {
            above_share.apply(q.enq_qdepth_cells, k_share, CAUSE_SHARE, decision, cause);
        }
    }
}

#include "include/switch.p4"
