// MQ-ECN on Tofino: marks a queue that is longer than what its share of the line needs, known from the time that a round of
// the scheduler takes; see v1model/mq-ecn.p4.
//
// All registers are accessed once per packet. A turn's beginning is kept per port, where the next packet asks for it, and
// what it begins from per queue. T_round is known behind where it is read: a note takes it there, and with it what remains of
// it at a sample. The share of the line is looked up by T_round, as nothing divides.
#include <core.p4>
#include <tna.p4>

#define MARKLAB_NOTES
#include "include/marking.p4"

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

typedef bit<9> port_cell_t;

control Marking(in queue_signals_t q, inout note_t note, out decision_t decision, out cause_t cause) {
    // State per port. kept_round: beta * T_round. last_turn: the queue of the packet before, with a 1 before it while that
    // queue's turn goes on. last_time: when that packet left its queue. turn_pre: when that queue's turn before ended.
    Register<bit<32>, port_cell_t>(MARKLAB_PORTS, 0) t_round;
    Register<bit<32>, port_cell_t>(MARKLAB_PORTS, 0) kept_round;
    Register<bit<8>, port_cell_t>(MARKLAB_PORTS, 0) last_turn;
    Register<bit<32>, port_cell_t>(MARKLAB_PORTS, 0) last_time;
    Register<bit<32>, port_cell_t>(MARKLAB_PORTS, 0) turn_pre;
    // State per queue. left_time: when its last packet left. deficit: bytes that its turn may still send.
    Register<bit<32>, queue_cell_t>(MARKLAB_QUEUES, 0) left_time;
    Register<int<32>, queue_cell_t>(MARKLAB_QUEUES, 0) deficit;

    bit<32> k = 0;
    bit<1> takes_turns = 0;
    bit<8> own_turn = 0;
    int<32> length = 0;
    int<32> quantum_less_length = 0;
    bit<32> round = 0;
    bit<32> half = 0;
    bit<32> quarter = 0;
    bit<32> eighth = 0;
    bit<32> sixteenth = 0;
    bit<32> kept = 0;
    bit<32> lost = 0;
    bit<8> turn = 0;
    bit<32> last_at = 0;
    bit<32> left_at = 0;
    bit<32> since_last = 0;
    bit<1> goes_on = 0;
    bit<32> pre = 0;
    bit<32> before = 0;
    bit<32> sample = 0;
    bit<1> has_sample = 0;
    bit<1> was_idle = 0;
    bit<32> new_round = 0;
    bit<32> k_share = NO_LIMIT;
    bit<32> over_line = 0;
    bit<32> over_share = 0;

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

    action compare_line() {
        over_line = q.enq_qdepth_cells |-| k;
    }

    // T_round, which notes write.
    RegisterAction<bit<32>, port_cell_t, bit<32>>(t_round) get_round = {
        void apply(inout bit<32> r, out bit<32> found) {
            found = r;
        }
    };
    RegisterAction<bit<32>, port_cell_t, bit<32>>(t_round) set_round = {
        void apply(inout bit<32> r) {
            r = note.value;
        }
    };
    RegisterAction<bit<32>, port_cell_t, bit<32>>(kept_round) get_kept = {
        void apply(inout bit<32> r, out bit<32> found) {
            found = r;
        }
    };
    RegisterAction<bit<32>, port_cell_t, bit<32>>(kept_round) set_kept = {
        void apply(inout bit<32> r) {
            r = kept;
        }
    };

    action lose_part() {
        lost = note.value >> MARKLAB_GAIN_SHIFT;
    }

    action keep_rest() {
        kept = note.value - lost;
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

    action pass_time() {
        since_last = q.now_ns - last_at;
    }

    action divide_round() {
        half = round >> 1;
        quarter = round >> 2;
        eighth = round >> 3;
        sixteenth = round >> 4;
    }

    action begin_with_arrival() {
        pre = q.arrival_ns;
    }

    action begin_with_turn_before() {
        pre = left_at;
    }

    RegisterAction<bit<32>, port_cell_t, bit<32>>(turn_pre) look_at_pre = {
        void apply(inout bit<32> at, out bit<32> found) {
            found = at;
        }
    };
    RegisterAction<bit<32>, port_cell_t, bit<32>>(turn_pre) begin_turn = {
        void apply(inout bit<32> at, out bit<32> found) {
            found = at;
            at = pre;
        }
    };

    // Turns that ended: the one before, this packet's.
    action sample_last() {
        has_sample = 1;
        sample = last_at - before;
    }

    action sample_this() {
        has_sample = 1;
        sample = q.now_ns - before;
    }

    action sample_first() {
        has_sample = 1;
        sample = q.now_ns - pre;
    }

    // Behind another one, for which the note's copy makes one of its own.
    action sample_later() {
        note.flag = 1;
        note.ticks = q.now_ns - pre;
    }

    // T_round = beta * T_round + (1 - beta) * T_sample (Eq. 6).
    action add_sample() {
        new_round = kept + sample;
    }

    action keep_round() {
        new_round = round;
    }

    action keep_7_8() {
        new_round = round - eighth;
    }

    action keep_3_4() {
        new_round = round - quarter;
    }

    action keep_9_16() {
        new_round = half + sixteenth;
    }

    action keep_7_16() {
        new_round = half - sixteenth;
    }

    action keep_5_16() {
        new_round = quarter + sixteenth;
    }

    action keep_1_4() {
        new_round = quarter;
    }

    action keep_3_16() {
        new_round = eighth + sixteenth;
    }

    action keep_1_8() {
        new_round = eighth;
    }

    action keep_1_16() {
        new_round = sixteenth;
    }

    action keep_nothing() {
        new_round = 0;
    }

    // beta^n, in sixteenths, for a port that was idle for n times T_idle.
    table decay_by_idle {
        key = { since_last[19:0]: range @name("since_last_ns"); }
        actions = {
            keep_round; keep_7_8; keep_3_4; keep_9_16; keep_7_16; keep_5_16; keep_1_4; keep_3_16; keep_1_8; keep_1_16; keep_nothing;
        }
        default_action = keep_nothing();
        size = 64;
    }

    action set_share(bit<32> k_cells) {
        k_share = k_cells;
    }

    // quantum / T_round * RTT * lambda.
    table share_by_round {
        key = {
            q.queue: exact @name("queue");
            new_round[MARKLAB_ROUND_BIT + 19:MARKLAB_ROUND_BIT]: range @name("round");
        }
        actions = { set_share; }
        default_action = set_share(NO_LIMIT);
        size = 2048;
    }

    action compare_share() {
        over_share = q.enq_qdepth_cells |-| k_share;
    }

    action write_note() {
        note.written = 1;
        note.value = new_round;
    }

    apply {
        decision = decision_t.PASS;
        cause = 0;
        if (note.arrived == 1) {
            lose_part();
            keep_rest();
            set_round.execute(q.cell[8:0]);
            set_kept.execute(q.cell[8:0]);
            if (note.flag == 1) {
                has_sample = 1;
                sample = note.ticks;
                note.flag = 0;
            }
        } else {
            params.apply();
            quanta.apply();
            compare_line();
            if (takes_turns == 1) {
                round = get_round.execute(q.cell[8:0]);
                kept = get_kept.execute(q.cell[8:0]);
                last_at = leave_port.execute(q.cell[8:0]);
                left_at = leave_queue.execute(q.cell);
                if (q.deq_qdepth_cells == 0) {
                    turn = end_turn.execute(q.cell[8:0]);
                } else {
                    turn = go_on_with_turn.execute(q.cell[8:0]);
                }
                pass_time();
                divide_round();
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
                if (turn == own_turn && goes_on == 1) {
                    before = look_at_pre.execute(q.cell[8:0]);
                } else {
                    before = begin_turn.execute(q.cell[8:0]);
                }
                if (q.sojourn_ns[31:10] == 0) {
                    was_idle = 1;
                    if (q.deq_qdepth_cells == 0) {
                        sample_later();
                    }
                } else if (turn == own_turn && goes_on == 1) {
                    if (q.deq_qdepth_cells == 0) {
                        sample_this();
                    }
                } else if (turn != 0) {
                    sample_last();
                    if (q.deq_qdepth_cells == 0) {
                        sample_later();
                    }
                } else if (q.deq_qdepth_cells == 0) {
                    sample_first();
                }
            }
        }
        if (was_idle == 1) {
            if (since_last[31:20] == 0) {
                decay_by_idle.apply();
            } else {
                keep_nothing();
            }
        } else if (has_sample == 1) {
            add_sample();
        } else {
            keep_round();
        }
        if (was_idle == 1 || has_sample == 1) {
            write_note();
        }
        if (new_round[31:MARKLAB_ROUND_BIT + 20] == 0) {
            share_by_round.apply();
        } else {
            set_share(0);
        }
        compare_share();
        if (over_line != 0) {
            decision = decision_t.MARK;
            cause = CAUSE_STANDARD;
        } else if (takes_turns == 1 && over_share != 0) {
            decision = decision_t.MARK;
            cause = CAUSE_SHARE;
        }
    }
}

#include "include/switch.p4"
