// SPDX-License-Identifier: MIT OR Apache-2.0
// How many packets wait in all queues of a pool: those of a port, or all of the switch.
//
// v1model shows a packet only its own queue, and only in egress. So ingress counts packets sent to the queues, and
// egress counts packets that left them; the difference waits. Counts wrap at 2^32, which keeps differences correct.
// Each has a single writer, so no update is lost if ingress and egress run in separate threads, as in BMv2.
//
// A packet that a full buffer drops never reaches egress. But a packet that leaves knows how many packets it leaves
// behind, so all others sent to its queue have left or were dropped. The occupancy is thus exact while nothing is
// dropped. After a drop it is too large by the packets that a queue has lost, until a packet leaves that queue.
//
// Define MARKLAB_POOL(port), the number of a port's pool, before including this file, and read q.pool_pkts: packets
// waiting when the packet arrived, without it. switch.p4 has each packet enter its pool and leave it.
#ifndef MARKLAB_OCCUPANCY_P4
#define MARKLAB_OCCUPANCY_P4

#include "marking.p4"

#define MARKLAB_COUNTS_ARRIVALS

// Port to which v1model sends packets that ingress drops: no packet waits there.
const bit<9> DROP_PORT = 511;

// Packets per queue and per pool. Ingress writes arrivals, egress departures.
register<bit<32>>(MARKLAB_QUEUES) queue_came;
register<bit<32>>(MARKLAB_QUEUES) queue_gone;
register<bit<32>>(MARKLAB_PORTS) pool_came;
register<bit<32>>(MARKLAB_PORTS) pool_gone;

// In ingress, when port and queue are known.
control EnterPool(in bit<9> port, in bit<7> queue, out bit<32> found_pkts) {
    apply {
        found_pkts = 0;
        if (port != DROP_PORT) {
            bit<32> cell = (bit<32>)(queue ++ port);
            bit<32> sent;
            queue_came.read(sent, cell);
            queue_came.write(cell, sent + 1);

            bit<32> pool = (bit<32>)MARKLAB_POOL(port);
            bit<32> came;
            bit<32> gone;
            pool_came.read(came, pool);
            pool_gone.read(gone, pool);
            pool_came.write(pool, came + 1);
            found_pkts = came - gone;
        }
    }
}

// In egress, before the decision.
control LeavePool(in queue_signals_t q) {
    apply {
        bit<32> cell = MARKLAB_QUEUE_CELL(q);
        bit<32> sent;
        bit<32> gone_before;
        queue_came.read(sent, cell);
        queue_gone.read(gone_before, cell);
        bit<32> gone = sent - (bit<32>)q.deq_qdepth_pkts;
        queue_gone.write(cell, gone);

        bit<32> pool = (bit<32>)MARKLAB_POOL(q.port);
        bit<32> pool_before;
        pool_gone.read(pool_before, pool);
        pool_gone.write(pool, pool_before + (gone - gone_before));
    }
}

#endif // MARKLAB_OCCUPANCY_P4
