// SPDX-License-Identifier: MIT OR Apache-2.0
// The scheduler's turns, inferred from packets that leave their queues: when a turn of a queue ended, and T_sample, the
// time since the queue's previous turn ended (MQ-ECN paper, section 3.2). v1model/mq-ecn.p4 defines the end of a turn,
// which is when the line has sent its last packet.
//
// The start of the present T_sample is kept per port, where the next packet reads it; it comes from state per queue. A
// packet that ends two turns leaves the second sample to its note.
#ifndef MARKLAB_TNA_TURNS_P4
#define MARKLAB_TNA_TURNS_P4

#include "round_time.p4"

// Whether a turn leaves its deficit to the next one, as in DWRR.
#ifndef MARKLAB_CARRIES
#define MARKLAB_CARRIES 1
#endif

#if MARKLAB_CARRIES
#define MARKLAB_DEFICIT(left, added) (left + added)
#else
#define MARKLAB_DEFICIT(left, added) (added)
#endif // MARKLAB_CARRIES

// p4c splits a field that is only copied, and what goes into a register must lie in one container.
@pa_atomic("egress", "marking_turns_end")
control Turns(in queue_signals_t q, inout note_t note, inout bit<1> takes_turns, inout bit<1> has_sample,
              inout bit<32> sample) {
    // State per port. last_turn: the queue of the previous packet, with a leading 1 while that queue's turn continues.
    // last_end: when the line had sent that packet; last_time: when it left its queue. turn_pre: when the previous turn of
    // that queue ended.
    Register<bit<8>, port_cell_t>(MARKLAB_PORTS, 0) last_turn;
    Register<bit<32>, port_cell_t>(MARKLAB_PORTS, 0) last_end;
    Register<bit<32>, port_cell_t>(MARKLAB_PORTS, 0) last_time;
    Register<bit<32>, port_cell_t>(MARKLAB_PORTS, 0) turn_pre;
    // State per queue. queue_end: when the line had sent its last packet. deficit: bytes that its turn may still send.
    Register<int<32>, queue_cell_t>(MARKLAB_QUEUES, 0) queue_end;
    Register<int<32>, queue_cell_t>(MARKLAB_QUEUES, 0) deficit;

    bit<8> own_turn = 0;
    int<32> length = 0;
    int<32> quantum_less_length = 0;
    bit<32> waited = 0;
    int<32> arrival = 0;
    int<32> sent = 0;
    bit<8> turn = 0;
    bit<32> last_sent = 0;
    int<32> queue_sent = 0;
    bit<32> since_last = 0;
    bit<1> goes_on = 0;
    bit<32> pre = 0;
    bit<32> end = 0;

    // The queue takes turns with others.
    action set_quantum(int<32> quantum_bytes) {
        takes_turns = 1;
        own_turn = 1w1 ++ q.queue;
        length = (int<32>)(bit<32>)q.length_bytes;
        quantum_less_length = quantum_bytes - (int<32>)(bit<32>)q.length_bytes;
    }

    // The queue has strict priority over those that take turns (section 3.4).
    action set_strict() {
        takes_turns = 0;
    }

    table quanta {
        key = { q.queue: exact @name("queue"); }
        actions = { set_quantum; set_strict; }
        default_action = set_strict();
        size = 128;
    }

    // A wait of less than a microsecond counts as none.
    action measure_wait() {
        waited = q.sojourn_ns |-| 999;
        arrival = (int<32>)q.arrival_ns;
    }

    action set_end(int<32> line_ns) {
        sent = (int<32>)q.now_ns + line_ns;
    }

    // When the line will have sent the packet, to 8 bytes: the chip cannot multiply.
    table end_by_length {
        key = { q.length_bytes[13:4]: exact @name("sixteens"); }
        actions = { set_end; }
        default_action = set_end(0);
        size = 1024;
    }

    // The previous packet of this port.
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
    RegisterAction<bit<32>, port_cell_t, bit<32>>(last_end) leave_port = {
        void apply(inout bit<32> at, out bit<32> found) {
            found = at;
            at = (bit<32>)sent;
        }
    };
    RegisterAction<bit<32>, port_cell_t, bit<32>>(last_time) pass = {
        void apply(inout bit<32> at, out bit<32> since) {
            since = q.now_ns - at;
            at = q.now_ns;
        }
    };
    RegisterAction<int<32>, queue_cell_t, int<32>>(queue_end) leave_queue = {
        void apply(inout int<32> at, out int<32> found) {
            found = at;
            at = sent;
        }
    };
    // Of a queue that the packet found empty: 0 if its last packet was sent before this one came. A time of more than
    // two seconds ago seems to be later than `sent`.
    RegisterAction<int<32>, queue_cell_t, int<32>>(queue_end) leave_empty_queue = {
        void apply(inout int<32> at, out int<32> found) {
            found = 0;
            if (at - arrival > 0 && at - sent < 0) {
                found = at;
            }
            at = sent;
        }
    };

    // The scheduler's account of this turn: whether the turn of the previous packet, if of this queue, continues.
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
                left = MARKLAB_DEFICIT(left, quantum_less_length);
            }
        }
    };
    RegisterAction<int<32>, queue_cell_t, bit<1>>(deficit) account_next = {
        void apply(inout int<32> left, out bit<1> enough) {
            enough = 0;
            if (MARKLAB_DEFICIT(left, quantum_less_length) >= 0) {
                left = MARKLAB_DEFICIT(left, quantum_less_length);
            } else {
                left = 0;
            }
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
        pre = (bit<32>)queue_sent;
    }

    action end_with_this() {
        end = (bit<32>)sent;
    }

    action end_with_last() {
        end = last_sent;
    }

    // T_sample of the turn that continues, if it ends with this packet; or of the turn before this packet's. Where the
    // clock wraps within a turn, it is 0, as if the turn ended before it began, which clocks of whole microseconds show.
    RegisterAction<bit<32>, port_cell_t, bit<32>>(turn_pre) look_at_turn = {
        void apply(inout bit<32> at, out bit<32> since) {
            since = end |-| at;
        }
    };
    RegisterAction<bit<32>, port_cell_t, bit<32>>(turn_pre) begin_turn = {
        void apply(inout bit<32> at, out bit<32> since) {
            since = end |-| at;
            at = pre;
        }
    };

    // T_sample of this packet's turn, if the turn begins and ends with this packet.
    action sample_this() {
        note.ns = (bit<32>)sent |-| pre;
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

    apply {
        quanta.apply();
        measure_wait();
        end_by_length.apply();
        if (takes_turns == 1) {
            last_sent = leave_port.execute(q.port);
            since_last = pass.execute(q.port);
            if (q.enq_qdepth_cells == 0) {
                queue_sent = leave_empty_queue.execute(q.cell);
            } else {
                queue_sent = leave_queue.execute(q.cell);
            }
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
            if (queue_sent == 0) {
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
}

#endif // MARKLAB_TNA_TURNS_P4
