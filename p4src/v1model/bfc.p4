// SPDX-License-Identifier: MIT OR Apache-2.0
// BFC's queues: each active flow has one, an empty one if there is any, else a random one (Goyal et al., "Backpressure
// Flow Control", NSDI 2022). Nothing is marked. The switch, not the program, pauses flows with long queues:
// docs/queues.md.
//
// A flow is active while its packets wait. Ingress has to know that, and which queues are empty. v1model shows both in
// egress only, so the two share registers. Ingress counts arrivals of an entry's flow and egress counts departures, so
// each register has one writer. A packet that is lost between them keeps its flow in its queue, as if it were still
// waiting.
#include <core.p4>
#include <v1model.p4>
#include "include/empty_queue.p4"
#include "include/marking.p4"

#define MARKLAB_STEERS

// Entries of the flow table per port, as many as the paper's: 2^14.
#define FLOW_CELLS 8388608
#define FLOW_CELL(port, id) ((bit<32>)((port) ++ (id)[31:18]))

// Per port and entry: packets that arrived and that left; counts wrap at 2^32.
register<bit<32>>(FLOW_CELLS) flow_came;
register<bit<32>>(FLOW_CELLS) flow_gone;

// New flows, by the queue that they were given.
enum bit<3> assigned_t {
    EMPTY = 1,               // a queue that was empty
    BY_LOT = 2               // no empty queue, so it shares one
}

control Steering(in flow_t flow, out bit<7> queue) {
    EmptyQueue() empty_queue;
    // Per port and entry: the queue of its flow.
    register<bit<7>>(FLOW_CELLS) flow_queue;
    counter(MARKLAB_PORTS * 8, CounterType.packets) assigned;

    bit<7> last_queue = 0;

    // last: number of the last queue.
    action set_steering(bit<7> last) {
        last_queue = last;
    }

    table steering_params {
        actions = { set_steering; }
        default_action = set_steering(31);
    }

    apply {
        bit<32> port = (bit<32>)flow.port;
        bit<32> entry = FLOW_CELL(flow.port, flow.id);
        bit<32> busy;
        bit<1> found;
        bit<32> came;
        bit<32> gone;
        flow_came.read(came, entry);
        flow_gone.read(gone, entry);
        flow_queue.read(queue, entry);
        busy_queues.read(busy, port);
        if (came == gone) {
            assigned_t what = assigned_t.EMPTY;
            empty_queue.apply(busy, found, queue);
            if (found == 0) {
                what = assigned_t.BY_LOT;
                steering_params.apply();
                random(queue, 0, last_queue);
            }
            flow_queue.write(entry, queue);
            assigned.count((bit<32>)(flow.port ++ what));
        }
        flow_came.write(entry, came + 1);
        busy_queues.write(port, busy | BUSY_BIT(queue));
    }
}

control LeaveQueue(in queue_signals_t q) {
    ClearBusy() clear_busy;

    apply {
        bit<32> entry = FLOW_CELL(q.port, q.flow);
        bit<32> gone;
        flow_gone.read(gone, entry);
        flow_gone.write(entry, gone + 1);
        clear_busy.apply(q);
    }
}

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    apply {
        decision = decision_t.PASS;
        cause = 0;
    }
}

#include "include/switch.p4"
