// SPDX-License-Identifier: MIT OR Apache-2.0
// Which queues of a port are empty, and the first of them: for schemes that give queues to flows.
//
// Ingress has to know this, but v1model shows the queue in egress only, so the two share a register: ingress sets the
// bit of the queue that it chose, and egress clears it.
#ifndef MARKLAB_EMPTY_QUEUE_P4
#define MARKLAB_EMPTY_QUEUE_P4

#include "marking.p4"

// Per port: a bit for each queue that is not empty.
register<bit<32>>(MARKLAB_PORTS) busy_queues;

// The bit of a queue.
#define BUSY_BIT(queue) (32w1 << (bit<8>)(queue))

// The first empty queue; `found` is 0 if there is none.
control EmptyQueue(in bit<32> busy, out bit<1> found, out bit<7> first) {
    action set_empty(bit<7> number) {
        found = 1;
        first = number;
    }

    action none_empty() {
        found = 0;
    }

    // One lookup over all queues: entry i of the control plane matches a 0 in bit i.
    table by_bits {
        key = { busy: ternary @name("busy"); }
        actions = { set_empty; none_empty; }
        default_action = none_empty();
        size = 32;
    }

    apply {
        first = 0;
        by_bits.apply();
    }
}

// In egress: clears the bit of a queue that a packet leaves empty.
control ClearBusy(in queue_signals_t q) {
    apply {
        if (q.deq_qdepth_pkts == 0) {
            bit<32> busy;
            busy_queues.read(busy, (bit<32>)q.port);
            busy_queues.write((bit<32>)q.port, busy & ~BUSY_BIT(q.queue));
        }
    }
}

#endif // MARKLAB_EMPTY_QUEUE_P4
