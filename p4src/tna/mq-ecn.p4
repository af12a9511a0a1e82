// SPDX-License-Identifier: MIT OR Apache-2.0
// MQ-ECN on Tofino: marks a queue that is longer than its share of the line needs, estimated from the time that a round
// of the scheduler takes; see v1model/mq-ecn.p4.
//
// Packets that leave show when turns end (include/turns.p4), which gives samples of T_round (include/round_time.p4). A
// table over T_round gives the share of the line, since the chip cannot divide.
#include <core.p4>
#include <tna.p4>

#include "include/turns.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_STANDARD = 1;
const cause_t CAUSE_SHARE = 2;

const bit<32> NO_LIMIT = 0xffffffff;

// Lowest of the twenty bits of T_round that a table looks up.
#ifndef MARKLAB_ROUND_BIT
#define MARKLAB_ROUND_BIT 0
#endif

control Marking(in queue_signals_t q, in noted_t noted, inout note_t note, out decision_t decision, out cause_t cause) {
    Turns() turns;
    TakeNote() take_note;
    RoundTime() round_time;
    Threshold() above_line;
    Threshold() above_share;

    bit<32> k = 0;
    bit<1> takes_turns = 0;
    bit<32> sample = 0;
    bit<1> has_sample = 0;
    bit<32> rest = 0;
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
            take_note.apply(noted, note, has_sample, sample, rest, kept);
        } else {
            params.apply();
            turns.apply(q, note, takes_turns, has_sample, sample);
        }
        round_time.apply(q, noted, note, has_sample, sample, rest, kept, round);
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

#include "include/mirrored.p4"
