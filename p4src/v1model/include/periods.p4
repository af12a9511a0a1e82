// SPDX-License-Identifier: MIT OR Apache-2.0
// Periods of a queue, for schemes that do something once in each. v1model has no timers: an arriving packet
// computes how many periods have ended, and does the updates of all of them. So nothing happens while no packet
// arrives, and all missed updates are done before the next packet is handled.
//
// Time is that of arrival, so that periods do not depend on how long packets wait. They begin with a queue's first
// packet. Periods that ended more than 2^32 us (71.6 minutes) ago are forgotten.
#ifndef MARKLAB_PERIODS_P4
#define MARKLAB_PERIODS_P4

#include "marking.p4"

control Periods(in queue_signals_t q, out bit<32> ended) {
    // Start of the present period, with a leading 1 because 0 is a valid time; 0 before the first packet.
    register<bit<49>>(MARKLAB_QUEUES) start;

    bit<32> length_us = 0;
    bit<64> per_us_q32 = 0;

    // periods_per_us_q32: 2^32 / period_us, rounded down and in 32 bits.
    action set_length(bit<32> period_us, bit<32> periods_per_us_q32) {
        length_us = period_us;
        per_us_q32 = (bit<64>)periods_per_us_q32;
    }

    table length {
        actions = { set_length; }
        default_action = set_length(5882, 730188);
    }

    apply {
        length.apply();
        bit<32> cell = MARKLAB_QUEUE_CELL(q);
        bit<48> came = q.now_us - (bit<48>)q.sojourn_us;
        bit<49> began;
        start.read(began, cell);
        // A difference of times stays correct if the clock wraps in between, and below 2^47 us (4.5 years).
        bit<48> elapsed = came - began[47:0];
        ended = 0;
        if (began == 0) {
            start.write(cell, 1w1 ++ came);
        } else if ((int<48>)elapsed >= (int<48>)(bit<48>)length_us) {
            bit<32> elapsed_us = 0xffffffff;
            if (elapsed < 0xffffffff) {
                elapsed_us = (bit<32>)elapsed;
            }
            // A quotient without a division: the product is too small by one at most, which the rest shows.
            ended = (bit<32>)(((bit<64>)elapsed_us * per_us_q32) >> 32);
            bit<32> rest = elapsed_us - ended * length_us;
            if (rest >= length_us) {
                ended = ended + 1;
                rest = rest - length_us;
            }
            start.write(cell, 1w1 ++ (came - (bit<48>)rest));
        }
    }
}

#endif // MARKLAB_PERIODS_P4
