// SPDX-License-Identifier: MIT OR Apache-2.0
// T_round, the smoothed time that a round of the scheduler takes (MQ-ECN paper, Eq. 6). Registers are accessed once per
// packet. A new T_round is known in a later stage than the one that reads it, so a note carries it there. The note also
// stores beta * T_round, to which a sample is added. A note that brings a second sample passes it on in another note.
//
// Registers calculate where they can: fields that a chain of calculations connects must fit into 16 containers.
#ifndef MARKLAB_TNA_ROUND_TIME_P4
#define MARKLAB_TNA_ROUND_TIME_P4

#include "notes.p4"

// 1 - beta is 2^-MARKLAB_GAIN_SHIFT, and the unit of T_round is that fraction of a nanosecond. So a sample adds its
// number of nanoseconds.
#ifndef MARKLAB_GAIN_SHIFT
#define MARKLAB_GAIN_SHIFT 2
#endif

// Content of a note: T_round, a sample, or both. T_round is first reduced by `step`.
const bit<8> ROUND = 1;
const bit<8> ROUND_AND_SAMPLE = 2;
const bit<8> SAMPLE = 3;

typedef bit<9> port_cell_t;

// Reads a note: `rest` is what remains of T_round, and `kept` is beta * rest. A sample beside T_round is passed on.
control TakeNote(in noted_t noted, inout note_t note, inout bit<1> has_sample, inout bit<32> sample, inout bit<32> rest,
                 inout bit<32> kept) {
    bit<32> half = 0;
    bit<32> quarter = 0;
    bit<32> eighth = 0;
    bit<32> sixteenth = 0;
    bit<32> lost = 0;

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
            keep_all; keep_7_8; keep_3_4; keep_9_16; keep_7_16; keep_5_16; keep_1_4; keep_3_16; keep_1_8; keep_1_16;
            keep_nothing;
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

    apply {
        divide_round();
        rest_by_step.apply();
        lose_part();
        keep_part();
        if (noted.what == SAMPLE) {
            take_sample();
        } else if (noted.what == ROUND_AND_SAMPLE) {
            pass_sample_on();
        }
    }
}

// T_round for a packet, including its own sample if it has one. A note that brings T_round stores it here.
control RoundTime(in queue_signals_t q, in noted_t noted, inout note_t note, in bit<1> has_sample, in bit<32> sample,
                  in bit<32> rest, in bit<32> kept, out bit<32> round) {
    // State per port. kept_round: beta * T_round.
    Register<bit<32>, port_cell_t>(MARKLAB_PORTS, 0) t_round;
    Register<bit<32>, port_cell_t>(MARKLAB_PORTS, 0) kept_round;

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

    apply {
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
    }
}

#endif // MARKLAB_TNA_ROUND_TIME_P4
