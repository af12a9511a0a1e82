// SPDX-License-Identifier: MIT OR Apache-2.0
// REM (Athuraliya, Li, Low and Yin, IEEE Network 2001): a price measures the congestion of the line, once per period,
// and a packet is marked with a probability that is exponential in it:
//
//     price = max(0, price + gamma (alpha (q - b_star) + x - c)), probability = 1 - phi ^ -price
//
// where x packets came in the period and c is what the line sends in one.
//
// Signal: enq_qdepth, at the time of arrival, and packets that came: decisions equal those at enqueue, one sojourn
// later. Periods that ended without a packet are all assumed to have ended with the queue that the next packet finds.
// Packets that a full queue refused are not seen, so they are not counted.
#include <core.p4>
#include <v1model.p4>
#include "include/marking.p4"
#include "include/not_ect.p4"
#include "include/periods.p4"

const cause_t CAUSE_PRICE = 1;

// The price is kept as price * log2(phi), in 2^-40: then a packet passes with probability 2 ^ -price, which halves with
// each whole number.
const int<96> HIGHEST_PRICE = 0x7fffffffffffffff;
const bit<33> CERTAIN = 0x100000000;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Periods() periods;
    // State per queue; arrived: packets that came in the present period.
    register<bit<64>>(MARKLAB_QUEUES) price;
    register<bit<32>>(MARKLAB_QUEUES) arrived;

    int<96> b_star = 0;
    int<96> per_queued = 0;
    int<96> per_arrived = 0;
    int<96> per_period = 0;

    // Added to the price: gamma alpha for each packet above b_star in a period, and gamma for each packet that came.
    // Taken away in each period: gamma c. All are multiplied by log2(phi), in 2^-40.
    action set_params(bit<19> b_star_pkts, bit<40> per_queued_q40, bit<40> per_arrived_q40, bit<64> per_period_q40) {
        b_star = (int<96>)(bit<96>)b_star_pkts;
        per_queued = (int<96>)(bit<96>)per_queued_q40;
        per_arrived = (int<96>)(bit<96>)per_arrived_q40;
        per_period = (int<96>)(bit<96>)per_period_q40;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(20, 158547, 1585467, 25771474);
    }

    // 2 ^ -x by table for x from 0 to 1, in 2^-32: its value at each 64th, and its decrease until the next.
    bit<6> step = 0;
    bit<33> at_step = 0;
    bit<33> fall = 0;

    action set_chord(bit<33> value_q32, bit<33> fall_q32) {
        at_step = value_q32;
        fall = fall_q32;
    }

    table power {
        key = { step: exact @name("step"); }
        actions = { set_chord; }
        default_action = set_chord(CERTAIN, 0);
        size = 64;
    }

    int<96> new_price = 0;

    action limit_price() {
        new_price = new_price < 0 ? 0 : new_price;
        new_price = new_price > HIGHEST_PRICE ? HIGHEST_PRICE : new_price;
    }

    apply {
        params.apply();
        bit<32> cell = MARKLAB_QUEUE_CELL(q);
        bit<64> present;
        price.read(present, cell);
        bit<32> came;
        arrived.read(came, cell);
        bit<32> ended;
        periods.apply(q, ended);
        if (ended != 0) {
            // Change in a period without arrivals. The packets that came did so in the first of the ended periods.
            int<96> change = per_queued * ((int<96>)(bit<96>)q.enq_qdepth_pkts - b_star) - per_period;
            new_price = (int<96>)(bit<96>)present + change + per_arrived * (int<96>)(bit<96>)came;
            limit_price();
            new_price = new_price + (int<96>)(bit<96>)(ended - 1) * change;
            limit_price();
            present = (bit<64>)(bit<96>)new_price;
            price.write(cell, present);
            came = 0;
        }
        arrived.write(cell, came |+| 1);

        // Linear interpolation between two steps. After 32 halvings a draw cannot distinguish the value from 0.
        step = present[39:34];
        power.apply();
        bit<64> passes = (bit<64>)at_step - (((bit<64>)fall * (bit<64>)present[33:0]) >> 34);
        bit<8> halvings = present[63:40] < 33 ? present[47:40] : 8w33;
        bit<64> p = (bit<64>)CERTAIN - (passes >> halvings);

        decision = decision_t.PASS;
        cause = 0;
        bit<32> draw;
        random(draw, 32w0, 32w0xffffffff);
        if ((bit<64>)draw < p) {
            decision = decision_t.MARK;
            cause = CAUSE_PRICE;
        }
    }
}

#include "include/switch.p4"
