// SPDX-License-Identifier: MIT OR Apache-2.0
// RED on Tofino: marks with a probability that grows with the average queue; see v1model/red.p4.
//
// The chip's low-pass filter averages over time, with the time constant that an average over packets has on a busy
// line. Marks are spread as in the second method of the RED paper (section 7): the next mark is due when the
// probabilities of the packets since the last mark add up to a random number, drawn at that mark. That takes one
// register and no product.
#include <core.p4>
#include "include/chip.p4"
#include "include/marking.p4"

const cause_t CAUSE_AVERAGE = 1;
const cause_t CAUSE_ABOVE_MAX = 2;

const bit<2> BELOW = 0;
const bit<2> BETWEEN = 1;
const bit<2> ABOVE_AND_MARKED = 2;
const bit<2> ABOVE_AND_DROPPED = 3;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Lpf<bit<32>, queue_cell_t>(MARKLAB_QUEUES) average;
    Random<bit<32>>() random;
    Random<bit<32>>() other_random;
    // State per queue. until_mark: sum of probabilities that the next mark still waits for, in 2^-32.
    Register<bit<32>, queue_cell_t>(MARKLAB_QUEUES, 0) until_mark;

    bit<32> avg = 0;
    bit<32> draw = 0;
    bit<2> zone = BELOW;
    bit<32> chance = 0;
    bit<32> fresh = 0;
    bit<1> is_due = 0;

    action take_average() {
        avg = average.execute(q.enq_qdepth_cells, q.cell);
    }

    action draw_number() {
        draw = random.get();
    }

    action set_below() {
        zone = BELOW;
    }

    // Probability of a packet, in 2^-32.
    action set_between(bit<32> chance_q32) {
        zone = BETWEEN;
        chance = chance_q32;
    }

    action mark_above() {
        zone = ABOVE_AND_MARKED;
    }

    action drop_above() {
        zone = ABOVE_AND_DROPPED;
    }

    table chance_by_average {
        key = { avg[19:0]: range @name("average_cells"); }
        actions = { set_below; set_between; mark_above; drop_above; }
        default_action = set_below();
        size = 512;
    }

    // A marked packet is the first one of the next count, so its probability is subtracted from the number. A number
    // that does not exceed it is drawn again, so that the next packets keep their chance.
    action count_this() {
        fresh = draw |-| chance;
    }

    action draw_again() {
        fresh = other_random.get();
    }

    RegisterAction<bit<32>, queue_cell_t, bit<1>>(until_mark) begin_anew = {
        void apply(inout bit<32> left) {
            left = fresh;
        }
    };
    RegisterAction<bit<32>, queue_cell_t, bit<1>>(until_mark) come_nearer = {
        void apply(inout bit<32> left, out bit<1> mark) {
            mark = 0;
            if (left < chance) {
                left = fresh;
                mark = 1;
            } else {
                left = left - chance;
            }
        }
    };

    apply {
        decision = decision_t.PASS;
        cause = 0;
        take_average();
        draw_number();
        chance_by_average.apply();
        count_this();
        if (fresh == 0) {
            draw_again();
        }
        if (zone == BETWEEN) {
            is_due = come_nearer.execute(q.cell);
        } else {
            begin_anew.execute(q.cell);
        }
        if (zone == ABOVE_AND_MARKED) {
            decision = decision_t.MARK;
            cause = CAUSE_ABOVE_MAX;
        } else if (zone == ABOVE_AND_DROPPED) {
            decision = decision_t.DROP;
            cause = CAUSE_ABOVE_MAX;
        } else if (is_due == 1) {
            decision = decision_t.MARK;
            cause = CAUSE_AVERAGE;
        }
    }
}

#include "include/plain.p4"
