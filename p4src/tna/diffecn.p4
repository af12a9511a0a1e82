// SPDX-License-Identifier: MIT OR Apache-2.0
// DiffECN on Tofino: a queue for each active flow, and marks only in queues that are longer than a fair share of the
// line needs; see v1model/diffecn.p4. include/flow_queues.p4 assigns the queues.
#include <core.p4>
#include "include/flow_queues.p4"
#include "../include/threshold.p4"

const cause_t CAUSE_FLOW = 1;      // the queue of a flow
const cause_t CAUSE_FALL_BACK = 2; // the same while there are more flows than queues
const cause_t CAUSE_PRIORITY = 3;  // the queue of high priority

struct period_t {
    bit<32> t_start;
    bit<32> seq_interval;
}

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above;
    Hash<bit<32>>(HashAlgorithm_t.CRC32) flow_and_period;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) cell_of_flow;
    // Per port: start and number of the present period, and the flows seen in it and in the previous one.
    Register<period_t, bit<9>>(MARKLAB_PORTS, { 0, 1 }) present;
    Register<bit<16>, bit<9>>(MARKLAB_PORTS, 0) n_now;
    Register<bit<16>, bit<9>>(MARKLAB_PORTS, 0) n_last;
    // By a short hash of port, flow and period: the long hash that was seen last.
    Register<bit<32>, bit<16>>(65536, 0) seen;

    int<32> a_period_ago = 0;
    bit<7> priority_queue = 0;
    bit<32> length = 0;
    bit<32> period = 0;
    bit<32> hash_new = 0;
    bit<1> is_new = 0;
    bit<16> now_flows = 0;
    bit<16> n_flow = 0;
    bit<32> threshold = 0;
    cause_t why = 0;
    bit<7> from_priority = 0;

    // minus_period_ns: 2^32 less t_period. own_cells: those of a packet that counts itself.
    action set_params(bit<7> high, bit<32> minus_period_ns, bit<32> own_cells) {
        priority_queue = high;
        a_period_ago = (int<32>)(q.now_ns + minus_period_ns);
        length = q.deq_qdepth_cells + own_cells;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(31, 4294667296, 0);
        size = 1;
    }

    // Returns the number of the period; 0 if this packet begins one.
    RegisterAction<period_t, bit<9>, bit<32>>(present) look_at_period = {
        void apply(inout period_t p, out bit<32> number) {
            number = 0;
            if (a_period_ago - (int<32>)p.t_start > 0) {
                p.t_start = q.now_ns;
                p.seq_interval = p.seq_interval + 1;
            } else {
                number = p.seq_interval;
            }
        }
    };

    action hash_flow() {
        hash_new = flow_and_period.get({ q.flow, q.port, period });
    }

    RegisterAction<bit<32>, bit<16>, bit<1>>(seen) note_flow = {
        void apply(inout bit<32> hash, out bit<1> other) {
            if (hash != hash_new) {
                other = 1;
            } else {
                other = 0;
            }
            hash = hash_new;
        }
    };

    RegisterAction<bit<16>, bit<9>, bit<16>>(n_now) count_from_0 = {
        void apply(inout bit<16> flows, out bit<16> before) {
            before = flows;
            flows = 0;
        }
    };
    RegisterAction<bit<16>, bit<9>, bit<16>>(n_now) count_flow = {
        void apply(inout bit<16> flows, out bit<16> number) {
            flows = flows |+| 1;
            number = flows;
        }
    };
    RegisterAction<bit<16>, bit<9>, bit<16>>(n_now) read_now = {
        void apply(inout bit<16> flows, out bit<16> number) {
            number = flows;
        }
    };
    RegisterAction<bit<16>, bit<9>, bit<16>>(n_last) keep_count = {
        void apply(inout bit<16> flows, out bit<16> number) {
            flows = now_flows;
            number = flows;
        }
    };
    RegisterAction<bit<16>, bit<9>, bit<16>>(n_last) take_larger = {
        void apply(inout bit<16> flows, out bit<16> number) {
            number = max(flows, now_flows);
        }
    };

    action set_threshold(bit<32> k_cells, cause_t of) {
        threshold = k_cells;
        why = of;
    }

    // K / N_flow; the last entry is for more flows than queues.
    table threshold_by_flows {
        key = { n_flow: range @name("n_flow"); }
        actions = { set_threshold; }
        default_action = set_threshold(0, CAUSE_FALL_BACK);
        size = 128;
    }

    action compare_queue() {
        from_priority = q.queue ^ priority_queue;
    }

    apply {
        params.apply();
        period = look_at_period.execute(q.port);
        if (period == 0) {
            now_flows = count_from_0.execute(q.port);
            n_flow = keep_count.execute(q.port);
        } else {
            hash_flow();
            is_new = note_flow.execute(cell_of_flow.get({ q.flow, q.port, period }));
            if (is_new == 1) {
                now_flows = count_flow.execute(q.port);
            } else {
                now_flows = read_now.execute(q.port);
            }
            n_flow = take_larger.execute(q.port);
        }
        threshold_by_flows.apply();
        compare_queue();
        if (from_priority == 0) {
            why = CAUSE_PRIORITY;
        }
        above.apply(length, threshold, why, decision, cause);
    }
}

#include "include/steered.p4"
