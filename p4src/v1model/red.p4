// SPDX-License-Identifier: MIT OR Apache-2.0
// RED (Floyd and Jacobson 1993) with ECN: marks with a probability that grows with the average queue; above `max` it
// drops, or marks if `mark_above_max` is 1 (RED*, ECN+ paper section 4.3.1). With `adapt` the probability at `max`
// follows the average, as in Adaptive RED (Floyd, Gummadi and Shenker 2001).
//
// Signal: enq_qdepth. The average is taken over the packets in the order in which they came, as in RED itself; packets
// dropped by the full queue are not seen.
#include <core.p4>
#include <v1model.p4>
#include "include/marking.p4"
#include "include/not_ect.p4"
#include "include/periods.p4"

const cause_t CAUSE_AVERAGE = 1;
const cause_t CAUSE_ABOVE_MAX = 2;

// Adaptive RED's beta, 0.9, in 2^-32.
const bit<64> BETA = 3865470566;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    // State per queue. average: in 1/65536 packets. since_mark: packets since the last mark, plus 1; 0 below min.
    register<bit<48>>(MARKLAB_QUEUES) average;
    register<bit<32>>(MARKLAB_QUEUES) since_mark;
    // Time at which the queue became empty, with a leading 1 because 0 is a valid time; 0 while it is not empty.
    register<bit<49>>(MARKLAB_QUEUES) idle_since;
    // Present slope while p_max adapts; 0 until the first change.
    register<bit<48>>(MARKLAB_QUEUES) own_slope;

    Periods() intervals;

    bit<48> min_q16 = 0;
    bit<48> max_q16 = 0;
    bit<48> present_slope = 0;
    bit<8> shift = 0;
    bit<1> mark_above_max = 0;

    // weight = 2^-weight_shift; slope_q32 = p_max / (max - min) per packet, in 2^-32.
    action set_params(bit<32> min_pkts, bit<32> max_pkts, bit<32> slope_q32, bit<8> weight_shift,
                      bit<1> mark_above) {
        min_q16 = (bit<48>)min_pkts << 16;
        max_q16 = (bit<48>)max_pkts << 16;
        present_slope = (bit<48>)slope_q32;
        shift = weight_shift;
        mark_above_max = mark_above;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(50, 150, 4294967, 9, 1);
    }

    // p_max adapts through its slope, p_max / (max - min), which needs no division: above target_high it rises by a
    // quarter, at most by `step`, unless it exceeds `top`; below target_low it falls by a tenth, unless it is less than
    // `bottom`. The target is a range of the average.
    bit<1> adapts = 0;
    bit<48> target_low = 0;
    bit<48> target_high = 0;
    bit<48> step = 0;
    bit<48> bottom = 0;
    bit<48> top = 0;

    action set_adaptation(bit<48> low_q16, bit<48> high_q16, bit<32> alpha_slope_q32, bit<32> bottom_slope_q32,
                          bit<32> top_slope_q32) {
        adapts = 1;
        target_low = low_q16;
        target_high = high_q16;
        step = (bit<48>)alpha_slope_q32;
        bottom = (bit<48>)bottom_slope_q32;
        top = (bit<48>)top_slope_q32;
    }

    table adaptation {
        actions = { NoAction; set_adaptation; }
        default_action = NoAction();
    }

    // (1 - weight) ^ (idle time / packet time), in 2^-16: how much of the average is left after an idle time.
    bit<32> idle_us = 0;
    bit<48> remainder = 0;

    action set_left(bit<32> left_q16) {
        remainder = (bit<48>)left_q16;
    }

    table decay {
        key = { idle_us: range @name("idle_us"); }
        actions = { set_left; }
        default_action = set_left(0);
        size = 64;
    }

    apply {
        params.apply();
        bit<32> cell = MARKLAB_QUEUE_CELL(q);

        bit<48> avg;
        average.read(avg, cell);
        bit<49> idle_from;
        idle_since.read(idle_from, cell);
        // A difference of times stays correct if the clock wraps in between.
        bit<48> idle = q.now_us - (bit<48>)q.sojourn_us - idle_from[47:0];
        if (idle_from != 0 && (int<48>)idle > 0) {
            idle_us = 0xffffffff;
            if (idle < 0xffffffff) {
                idle_us = (bit<32>)idle;
            }
            decay.apply();
            avg = (bit<48>)(((bit<64>)avg * (bit<64>)remainder) >> 16);
        } else {
            bit<48> length = (bit<48>)q.enq_qdepth_pkts << 16;
            if (length >= avg) {
                avg = avg + ((length - avg) >> shift);
            } else {
                avg = avg - ((avg - length) >> shift);
            }
        }
        average.write(cell, avg);
        idle_from = 0;
        if (q.deq_qdepth_pkts == 0) {
            idle_from = 1w1 ++ q.now_us;
        }
        idle_since.write(cell, idle_from);

        adaptation.apply();
        if (adapts == 1) {
            bit<48> own;
            own_slope.read(own, cell);
            if (own != 0) {
                present_slope = own;
            }
            bit<32> ended;
            intervals.apply(q, ended);
            if (ended != 0) {
                if (avg > target_high && present_slope <= top) {
                    bit<48> quarter = present_slope >> 2;
                    present_slope = present_slope + (quarter < step ? quarter : step);
                } else if (avg < target_low && present_slope >= bottom) {
                    present_slope = (bit<48>)(((bit<64>)present_slope * BETA) >> 32);
                }
                own_slope.write(cell, present_slope);
            }
        }

        decision = decision_t.PASS;
        cause = 0;
        bit<32> since;
        since_mark.read(since, cell);
        bit<32> draw;
        random(draw, 32w0, 32w0xffffffff);
        if (avg >= max_q16) {
            since = 1;
            cause = CAUSE_ABOVE_MAX;
            decision = decision_t.DROP;
            if (mark_above_max == 1) {
                decision = decision_t.MARK;
            }
        } else if (avg >= min_q16) {
            // p = p_b / (1 - since * p_b) spreads the marks evenly. Draw < p without a division:
            // draw * (1 - since * p_b) < p_b, in 2^-32.
            bit<64> p_b = ((bit<64>)(avg - min_q16) * (bit<64>)present_slope) >> 16;
            bit<64> spent = (bit<64>)since * p_b;
            if (spent >= 0x100000000 || ((bit<64>)draw * (0x100000000 - spent)) >> 32 < p_b) {
                since = 1;
                decision = decision_t.MARK;
                cause = CAUSE_AVERAGE;
            } else {
                since = since |+| 1;
            }
        } else {
            since = 0;
        }
        since_mark.write(cell, since);
    }
}

#include "include/switch.p4"
