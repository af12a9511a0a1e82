// SPDX-License-Identifier: MIT OR Apache-2.0
// DiffECN: a queue for each active flow, and marks only in queues that are longer than a fair share of the line needs
// (DiffECN paper, section IV, Algorithm 1).
//
//     K_p = lambda * RTT * C / N_flow (Eq. 2)
//
// Signal: deq_qdepth, the packets that this one leaves behind in its queue; with `own` the packet counts itself, since
// the paper reads the queue before it dequeues the packet (section IV-C.2). include/flow_queues.p4 assigns queues. N_flow is counted here: by periods (section IV-C.3), as
// the paper's program does, or as queues that hold packets, as its simulations "count active flows in real-time"
// (VI-C).
#include <core.p4>
#include <v1model.p4>
#include "include/flow_queues.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_FLOW = 1;      // the queue of a flow
const cause_t CAUSE_FALL_BACK = 2; // the same while there are more flows than queues
const cause_t CAUSE_PRIORITY = 3;  // the queue of high priority

// Cells per port that distinguish the flows of a period (section V-B): 2^14.
#define SEEN_CELLS 8388608

// Number of flows that sent a packet in the present or in the previous period, whichever is larger.
control FlowsOfPeriod(in queue_signals_t q, in bit<48> t_period, out bit<16> flows) {
    // Per port: start and number of the present period, and the flows seen in it and in the previous one.
    register<bit<48>>(MARKLAB_PORTS) t_start;
    register<bit<16>>(MARKLAB_PORTS) seq_interval;
    register<bit<16>>(MARKLAB_PORTS) n_now;
    register<bit<16>>(MARKLAB_PORTS) n_last;
    // Per port and low bits of the hash of (flow, period): the hash that was seen last.
    register<bit<32>>(SEEN_CELLS) seen;

    apply {
        bit<32> port = (bit<32>)q.port;
        bit<48> start;
        bit<16> now_flows;
        bit<16> last_flows;
        t_start.read(start, port);
        n_now.read(now_flows, port);
        n_last.read(last_flows, port);
        bit<16> seq;
        seq_interval.read(seq, port);
        if (q.now_us - start > t_period) {
            seq_interval.write(port, seq + 1);
            last_flows = now_flows;
            now_flows = 0;
            n_last.write(port, last_flows);
            n_now.write(port, 0);
            t_start.write(port, q.now_us);
        } else {
            bit<32> hash_new;
            hash(hash_new, HashAlgorithm.crc32, 32w0, { q.flow, seq }, 33w0x100000000);
            bit<32> cell = (bit<32>)(q.port ++ hash_new[13:0]);
            bit<32> hash_old;
            seen.read(hash_old, cell);
            seen.write(cell, hash_new);
            if (hash_old != hash_new) {
                now_flows = now_flows |+| 1;
                n_now.write(port, now_flows);
            }
        }
        flows = now_flows > last_flows ? now_flows : last_flows;
    }
}

// Queues that hold packets.
control FlowsQueued(in queue_signals_t q, out bit<16> flows) {
    apply {
        bit<32> ones;
        busy_queues.read(ones, (bit<32>)q.port);
        // Sums of neighbours: of 1 bit, of 2, of 4, and of all bytes.
        ones = (ones & 0x55555555) + ((ones >> 1) & 0x55555555);
        ones = (ones & 0x33333333) + ((ones >> 2) & 0x33333333);
        ones = (ones & 0x0f0f0f0f) + ((ones >> 4) & 0x0f0f0f0f);
        ones = ones + (ones >> 8);
        ones = ones + (ones >> 16);
        flows = 10w0 ++ ones[5:0];
    }
}

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above;
    FlowsOfPeriod() flows_of_period;
    FlowsQueued() flows_queued;

    bit<16> queues = 0;
    bit<7> priority_queue = 0;
    bit<48> t_period = 0;
    bit<1> by_queues = 0;
    bit<1> own = 0;

    // count_queues: 1 if N_flow is the number of queues that hold packets. own_pkts: 1 if a packet counts itself.
    action set_params(bit<16> queue_count, bit<7> high, bit<32> t_period_us, bit<1> count_queues, bit<1> own_pkts) {
        queues = queue_count;
        priority_queue = high;
        t_period = (bit<48>)t_period_us;
        by_queues = count_queues;
        own = own_pkts;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(32, 31, 285, 0, 0);
    }

    // K / N_flow, by table: no target divides at run time. A length is a whole number, so K / N_flow rounded down gives
    // the same decisions.
    bit<16> n_flow = 0;
    bit<32> threshold = 0;

    action set_threshold(bit<19> k_pkts) {
        threshold = (bit<32>)k_pkts;
    }

    table threshold_by_flows {
        key = { n_flow: exact @name("n_flow"); }
        actions = { set_threshold; }
        default_action = set_threshold(0);
        size = 128;
    }

    apply {
        params.apply();
        if (by_queues == 1) {
            flows_queued.apply(q, n_flow);
        } else {
            flows_of_period.apply(q, t_period, n_flow);
        }
        bool falls_back = n_flow > queues;
        if (falls_back) {
            n_flow = queues;
        }
        threshold_by_flows.apply();

        cause_t why = q.queue == priority_queue ? CAUSE_PRIORITY : (falls_back ? CAUSE_FALL_BACK : CAUSE_FLOW);
        above.apply((bit<32>)q.deq_qdepth_pkts + (bit<32>)own, threshold, why, decision, cause);
    }
}

#include "include/switch.p4"
