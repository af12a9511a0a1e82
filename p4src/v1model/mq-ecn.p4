// SPDX-License-Identifier: MIT OR Apache-2.0
// MQ-ECN: marks a queue that is longer than its share of the line needs, estimated from the time that a round of the
// scheduler takes (MQ-ECN paper, sections 3.2 and 3.3, Eq. 5 and 6).
//
//     K_i = min(quantum_i / T_round, C) * RTT * lambda
//
// With two thresholds, K being the lower one, it marks with a probability between them (section 3.4): K_i,min and K_i,max
// are the same fraction of k_min and k_max as K_i is of K, and P_i,max is p_max.
//
// Signal: enq_qdepth, as the paper marks at enqueue. T_round is the value at dequeue.
//
// v1model shows the queue in egress only, so the end of a turn is inferred there, from the order of the packets that
// leave. A queue's turn ends with a packet if the packet leaves the queue empty, if the next packet is from another
// queue, or if it is from the same queue but longer than the rest of the turn's deficit, as the scheduler counts it.
// The last two cases are known one packet later, but the recorded time is that of the turn's last packet: when the line
// has sent it, as in the authors' simulator. So the round of a packet that is alone takes as long as the packet.
// Their kernel module takes the time of dequeue, but at least the packet's own.
#include <core.p4>
#include <v1model.p4>
#include "include/marking.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_STANDARD = 1; // longer than C * RTT * lambda
const cause_t CAUSE_SHARE = 2;    // longer than quantum / T_round * RTT * lambda

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above_line;
    // State per port. t_round: smoothed time of a round, in 1/256 us. last_queue: the queue of the previous packet,
    // with a leading 1 while that queue's turn continues. last_time: when that packet left its queue. last_end: when the
    // line had sent it, in 1/256 us.
    register<bit<32>>(MARKLAB_PORTS) t_round;
    register<bit<8>>(MARKLAB_PORTS) last_queue;
    register<bit<48>>(MARKLAB_PORTS) last_time;
    register<bit<56>>(MARKLAB_PORTS) last_end;
    // State per queue. t_pre: when its previous turn ended, or when it stopped being empty if that is later, in 1/256
    // us. deficit: bytes that its turn may still send.
    register<bit<56>>(MARKLAB_QUEUES) t_pre;
    register<bit<32>>(MARKLAB_QUEUES) deficit;

    bit<19> k = 0;
    bit<1> own = 0;
    bit<8> gain = 0;
    bit<1> carries = 0;
    bit<48> byte_time = 0;

    // own_pkts: 1 if a packet counts itself. one_minus_beta_q8: in 1/256. carried: 1 if a turn leaves its deficit to the
    // next one, as in DWRR. us_per_byte_q24: what the line takes for a byte, in 2^-24 us.
    action set_params(bit<19> k_pkts, bit<1> own_pkts, bit<8> one_minus_beta_q8, bit<1> carried,
                      bit<32> us_per_byte_q24) {
        k = k_pkts;
        own = own_pkts;
        gain = one_minus_beta_q8;
        carries = carried;
        byte_time = (bit<48>)us_per_byte_q24;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(65, 0, 64, 1, 13422);
    }

    bit<32> quantum = 0;
    bit<40> quantum_rtt = 0;

    // The queue takes turns with others. quantum_rtt_q8: quantum * RTT * lambda in packets * us / 256. The queue's
    // length times T_round is compared with it, since no target divides at run time.
    action set_quantum(bit<32> quantum_bytes, bit<40> quantum_rtt_q8) {
        quantum = quantum_bytes;
        quantum_rtt = quantum_rtt_q8;
    }

    // The queue has strict priority over queues that take turns (section 3.4).
    action set_strict() {
        quantum = 0;
    }

    table quanta {
        key = { q.queue: exact @name("queue"); }
        actions = { set_quantum; set_strict; }
        default_action = set_strict();
        size = 128;
    }

    bit<19> k_max = 0;
    bit<40> quantum_rtt_max = 0;
    bit<33> p_max = 0;

    // Like k_pkts and quantum_rtt_q8, for the upper thresholds. p_max_q32: the probability there, in 2^-32.
    action set_probability(bit<19> max_pkts, bit<40> quantum_rtt_max_q8, bit<33> p_max_q32) {
        k_max = max_pkts;
        quantum_rtt_max = quantum_rtt_max_q8;
        p_max = p_max_q32;
    }

    // Applied only to packets above the lower thresholds.
    table probabilities {
        key = { q.queue: exact @name("queue"); }
        actions = { set_probability; }
        default_action = set_probability(0, 0, 0);
        size = 128;
    }

    // beta^n in 1/65536, for a port that was idle for n times T_idle; 0 beyond the table's entries. The time counts
    // from the departure of the previous packet; it includes the packet's own transmission, which is not idle time.
    bit<48> since_last = 0;
    bit<17> decay = 0;

    action set_decay(bit<17> factor_q16) {
        decay = factor_q16;
    }

    table decay_by_idle {
        key = { since_last: range @name("since_last_us"); }
        actions = { set_decay; }
        default_action = set_decay(0);
        size = 64;
    }

    bit<32> round = 0;

    // A turn of the queue of `cell` ended at time `at`, in 1/256 us.
    action end_turn(in bit<32> cell, in bit<56> at) {
        bit<56> before;
        t_pre.read(before, cell);
        t_pre.write(cell, at);
        // T_round = beta * T_round + (1 - beta) * T_sample (Eq. 6). A round takes less than 2^24 us. Times of dequeue are
        // whole microseconds, so a turn may seem to begin after it ends.
        bit<32> sample = (bit<32>)(at |-| before);
        bit<40> up = (bit<40>)gain * (bit<40>)(sample |-| round);
        bit<40> down = (bit<40>)gain * (bit<40>)(round |-| sample);
        round = round + up[39:8] - down[39:8];
    }

    // With the queue's length L and its fraction s of the thresholds, the probability is
    //
    //     p_max * (L - s * k_min) / (s * k_max - s * k_min)
    //
    // s * k_min is min(quantum_rtt / T_round, k), and s * k_max likewise. So the comparison with the draw needs no
    // division if both sides are multiplied by the denominator, and by T_round where s is below 1. A queue of strict
    // priority has all of k. Products of the length are at most quantum_rtt_max here, 40 bits, so 73 bits are enough.
    action draw_mark(in bit<32> length, out bool chosen) {
        bool shares = quantum != 0 && (bit<64>)round * (bit<64>)k > (bit<64>)quantum_rtt;
        bit<73> low = shares ? (bit<73>)quantum_rtt : (bit<73>)k;
        bit<73> high = shares ? (bit<73>)quantum_rtt_max : (bit<73>)k_max;
        bit<73> at = shares ? (bit<73>)length * (bit<73>)round : (bit<73>)length;
        bit<32> draw;
        random(draw, 32w0, 32w0xffffffff);
        chosen = (bit<73>)draw * (high - low) < (bit<73>)p_max * (at - low);
    }

    apply {
        params.apply();
        quanta.apply();
        bit<32> port = (bit<32>)q.port;
        bit<32> cell = MARKLAB_QUEUE_CELL(q);
        t_round.read(round, port);

        if (quantum != 0) {
            bit<8> last;
            bit<48> last_at;
            bit<56> last_sent;
            bit<32> left;
            last_queue.read(last, port);
            last_time.read(last_at, port);
            last_end.read(last_sent, port);
            deficit.read(left, cell);
            bit<8> turn = 1w1 ++ q.queue;
            bit<32> length = (bit<32>)q.length_bytes;
            bit<56> sent = q.now_us ++ 8w0;
            sent = sent + (bit<56>)((bit<48>)length * byte_time >> 16);
            bool goes_on = last == turn && length <= left;
            if (last[7:7] == 1 && !goes_on) {
                end_turn((bit<32>)(last[6:0] ++ q.port), last_sent);
            }
            // A packet that did not wait may have found the port idle: T_round falls by beta for each T_idle, as if
            // there had been rounds that took no time (section 3.3.1, and the authors' simulator).
            if (q.sojourn_us == 0) {
                since_last = q.now_us - last_at;
                decay_by_idle.apply();
                bit<49> decayed = (bit<49>)round * (bit<49>)decay;
                round = decayed[47:16];
            }
            // It may have come while the line sent the last packet of the queue's previous turn.
            if (q.enq_qdepth_pkts == 0) {
                bit<56> enqueued = (q.now_us - (bit<48>)q.sojourn_us) ++ 8w0;
                bit<56> before;
                t_pre.read(before, cell);
                t_pre.write(cell, enqueued > before ? enqueued : before);
            }

            // The scheduler's account of this turn.
            if (!goes_on) {
                if (carries == 0 || q.enq_qdepth_pkts == 0) {
                    left = 0;
                }
                left = left + quantum;
            }
            left = left |-| length;
            if (q.deq_qdepth_pkts == 0) {
                end_turn(cell, sent);
                left = 0;
                turn = 0;
            }
            deficit.write(cell, left);
            last_queue.write(port, turn);
            last_time.write(port, q.now_us);
            last_end.write(port, sent);
            t_round.write(port, round);
        }

        bit<19> qdepth = q.enq_qdepth_pkts + (bit<19>)own;
        above_line.apply((bit<32>)qdepth, (bit<32>)k, CAUSE_STANDARD, decision, cause);
        // The length is compared with its share by a product, which has more bits than a Threshold.
        if (decision == decision_t.PASS && quantum != 0 &&
            (bit<64>)qdepth * (bit<64>)round > (bit<64>)quantum_rtt) {
            decision = decision_t.MARK;
            cause = CAUSE_SHARE;
        }
        if (decision == decision_t.MARK) {
            probabilities.apply();
            if (qdepth <= k_max && (quantum == 0 || (bit<64>)qdepth * (bit<64>)round <= (bit<64>)quantum_rtt_max)) {
                bool chosen;
                draw_mark((bit<32>)qdepth, chosen);
                if (!chosen) {
                    decision = decision_t.PASS;
                    cause = 0;
                }
            }
        }
    }
}

#include "include/switch.p4"
