// SPDX-License-Identifier: MIT OR Apache-2.0
// A queue for each active flow: DiffECN's queue mapping unit (DiffECN paper, section IV-B, Algorithm 1 lines 1 to 24).
//
// Ordinary queues 0, 1, ... take turns; the last one, of high priority, is for flows that found no empty queue. Ingress
// must know how long the queues are, but v1model shows that in egress only, so the two share registers. Ingress counts
// the packets that it sends to a queue, and egress writes how many are left there.
//
// The paper has two notions of an active flow. In its program, a flow is active if it sent a packet in the last
// t_period (Algorithm 1); meanwhile its queue may run empty and be given to another flow as well. In section IV-B a
// flow is active while it "has one or more packets queued", which its simulations can see; a flow whose queue ran empty
// is then new. In both, a queue that ran empty is free for others. Section VII-B has a third rule: the queue of a flow
// that stalled for no more than t_period "is still occupied by this flow and will not be allocated".
//
// Include this file; switch.p4 calls its controls.
#ifndef MARKLAB_FLOW_QUEUES_P4
#define MARKLAB_FLOW_QUEUES_P4

#include "empty_queue.p4"
#include "marking.p4"

#define MARKLAB_STEERS

// The flow map has 512 entries per queue, of which there are 32 at most.
#define FLOW_MAP_BITS 14
#define FLOW_MAP_CELLS 8388608

// Per port and queue: packets in it, as far as ingress and egress know, and when one was last sent to it or left it.
register<bit<32>>(MARKLAB_QUEUES) queue_depth;
register<bit<32>>(MARKLAB_QUEUES) queue_used;
// How often the queue was given to a flow because it was empty; the count wraps.
register<bit<8>>(MARKLAB_QUEUES) queue_turn;

// Entry of the flow map.
struct mapping_t {
    bit<1> known;
    bit<7> queue;
    bit<24> passed_bytes;    // through the queue of high priority
    bit<32> last_us;         // when its last packet came
}

// Packets by the assignment of their flow.
enum bit<3> steered_t {
    KEPT = 0,                // in its queue
    EMPTY = 1,               // a new flow in an empty queue
    PRIORITY = 2,            // a new flow in the queue of high priority
    PROBED = 3,              // out of that queue into one that is empty now
    SHORTEST = 4             // out of that queue because it has passed its limit there
}

control Steering(in flow_t flow, out bit<7> queue) {
    EmptyQueue() empty_queue;
    // Per port and entry: a mapping_t.
    register<bit<64>>(FLOW_MAP_CELLS) flow_map;
    // queue_turn when the entry's flow came to its queue.
    register<bit<8>>(FLOW_MAP_CELLS) flow_turn;
    // Per port: the queue to check next when no queue seems empty.
    register<bit<7>>(MARKLAB_PORTS) next_stale;
    counter(MARKLAB_PORTS * 8, CounterType.packets) steered;

    bit<7> priority_queue = 0;
    bit<14> map_mask = 0;
    bit<32> t_period = 0;
    bit<32> t_stale = 0;
    bit<24> pass_limit = 0;
    bit<1> while_queued = 0;
    bit<1> has_owner = 0;

    // high: the last queue. t_period_us: a flow that sent nothing for this long is a new one. t_stale_us: a queue that
    // no packet entered or left for this long is empty. active_while_queued: 1 if a flow whose queue ran empty is a new
    // one. owned_for_period: 1 if an empty queue is given to a flow only if it was not used for t_period.
    action set_steering(bit<7> high, bit<14> mask, bit<32> t_period_us, bit<32> t_stale_us, bit<24> pass_limit_bytes,
                        bit<1> active_while_queued, bit<1> owned_for_period) {
        priority_queue = high;
        map_mask = mask;
        t_period = t_period_us;
        t_stale = t_stale_us;
        pass_limit = pass_limit_bytes;
        while_queued = active_while_queued;
        has_owner = owned_for_period;
    }

    table steering_params {
        actions = { set_steering; }
        default_action = set_steering(31, 0x3fff, 285, 2850, 15000, 0, 0);
    }

    bit<32> busy = 0;
    bit<1> found = 0;
    bit<7> first_empty = 0;

    bit<32> now = 0;
    bit<7> shortest = 0;
    bit<32> shortest_depth = 0;

    action compare_depth(in bit<7> number) {
        bit<32> depth;
        queue_depth.read(depth, (bit<32>)(number ++ flow.port));
        bool shorter = number < priority_queue && depth < shortest_depth;
        shortest = shorter ? number : shortest;
        shortest_depth = shorter ? depth : shortest_depth;
    }

    bit<32> taken = 0;

    // A queue that was never used has 0.
    action look_for_owner(in bit<7> number) {
        bit<32> used;
        queue_used.read(used, (bit<32>)(number ++ flow.port));
        taken = used == 0 || now - used > t_period ? taken : taken | BUSY_BIT(number);
    }

    // A packet that a full buffer drops never reaches egress. If its queue was empty, the queue's bit would stay set.
    // So when no queue seems empty, packets check one queue after the other.
    action look_for_stale() {
        bit<7> number;
        next_stale.read(number, (bit<32>)flow.port);
        bit<7> next = number + 1;
        next_stale.write((bit<32>)flow.port, next >= priority_queue ? 7w0 : next);
        bit<32> used;
        queue_used.read(used, (bit<32>)(number ++ flow.port));
        if (now - used > t_stale) {
            busy = busy & ~BUSY_BIT(number);
            queue_depth.write((bit<32>)(number ++ flow.port), 0);
            found = 1;
            first_empty = number;
        }
    }

    apply {
        steering_params.apply();
        now = flow.now_us[31:0];
        bit<32> port = (bit<32>)flow.port;
        bit<32> entry = (bit<32>)(flow.port ++ (flow.id[31:18] & map_mask));
        bit<64> stored;
        flow_map.read(stored, entry);
        mapping_t mapping = { stored[63:63], stored[62:56], stored[55:32], stored[31:0] };
        busy_queues.read(busy, port);

        steered_t what = steered_t.KEPT;
        bool is_new = mapping.known == 0 || now - mapping.last_us > t_period;
        if (while_queued == 1 && mapping.known == 1 && mapping.queue != priority_queue) {
            bit<8> present_turn;
            bit<8> own_turn;
            queue_turn.read(present_turn, (bit<32>)(mapping.queue ++ flow.port));
            flow_turn.read(own_turn, entry);
            is_new = busy & BUSY_BIT(mapping.queue) == 0 || own_turn != present_turn;
        }
        if (is_new) {
            mapping.queue = priority_queue;
            mapping.passed_bytes = 0;
            what = steered_t.PRIORITY;
        }
        if (mapping.queue == priority_queue) {
            if (mapping.passed_bytes <= pass_limit) {
                taken = busy;
                if (has_owner == 1) {
                    look_for_owner(0); look_for_owner(1); look_for_owner(2); look_for_owner(3);
                    look_for_owner(4); look_for_owner(5); look_for_owner(6); look_for_owner(7);
                    look_for_owner(8); look_for_owner(9); look_for_owner(10); look_for_owner(11);
                    look_for_owner(12); look_for_owner(13); look_for_owner(14); look_for_owner(15);
                    look_for_owner(16); look_for_owner(17); look_for_owner(18); look_for_owner(19);
                    look_for_owner(20); look_for_owner(21); look_for_owner(22); look_for_owner(23);
                    look_for_owner(24); look_for_owner(25); look_for_owner(26); look_for_owner(27);
                    look_for_owner(28); look_for_owner(29); look_for_owner(30);
                }
                empty_queue.apply(taken, found, first_empty);
                if (found == 0) {
                    look_for_stale();
                }
                if (found == 1) {
                    mapping.queue = first_empty;
                    what = is_new ? steered_t.EMPTY : steered_t.PROBED;
                }
            } else {
                shortest_depth = 0xffffffff;
                compare_depth(0); compare_depth(1); compare_depth(2); compare_depth(3);
                compare_depth(4); compare_depth(5); compare_depth(6); compare_depth(7);
                compare_depth(8); compare_depth(9); compare_depth(10); compare_depth(11);
                compare_depth(12); compare_depth(13); compare_depth(14); compare_depth(15);
                compare_depth(16); compare_depth(17); compare_depth(18); compare_depth(19);
                compare_depth(20); compare_depth(21); compare_depth(22); compare_depth(23);
                compare_depth(24); compare_depth(25); compare_depth(26); compare_depth(27);
                compare_depth(28); compare_depth(29); compare_depth(30);
                mapping.queue = shortest;
                what = steered_t.SHORTEST;
            }
        }
        if (mapping.queue == priority_queue) {
            mapping.passed_bytes = mapping.passed_bytes |+| (bit<24>)flow.length_bytes;
        }
        queue = mapping.queue;
        flow_map.write(entry, 1w1 ++ mapping.queue ++ mapping.passed_bytes ++ now);

        bit<32> cell = (bit<32>)(queue ++ flow.port);
        bit<32> depth;
        queue_depth.read(depth, cell);
        queue_depth.write(cell, depth + 1);
        queue_used.write(cell, now);
        if (while_queued == 1 && what != steered_t.KEPT) {
            bit<8> turn;
            queue_turn.read(turn, cell);
            if (what != steered_t.SHORTEST) {
                turn = turn + 1;
                queue_turn.write(cell, turn);
            }
            flow_turn.write(entry, turn);
        }
        busy_queues.write(port, busy | BUSY_BIT(queue));
        if (what != steered_t.KEPT) {
            steered.count((bit<32>)(flow.port ++ what));
        }
    }
}

// Tells ingress about a packet that leaves.
control LeaveQueue(in queue_signals_t q) {
    ClearBusy() clear_busy;

    apply {
        bit<32> cell = MARKLAB_QUEUE_CELL(q);
        queue_depth.write(cell, (bit<32>)q.deq_qdepth_pkts);
        queue_used.write(cell, q.now_us[31:0]);
        clear_busy.apply(q);
    }
}

#endif // MARKLAB_FLOW_QUEUES_P4
