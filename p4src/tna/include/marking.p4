// SPDX-License-Identifier: MIT OR Apache-2.0
// Inputs and outputs of a marking decision on Tofino. A scheme implements
//
//     control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause)
//
// and ends with one of the switches, which calls it once per packet in egress, in the order in which packets leave
// their queue:
//
//     plain.p4      for a scheme that needs nothing else;
//     mirrored.p4   for one that leaves notes for later packets (notes.p4);
//     steered.p4    for one that assigns queues in ingress (flow_queues.p4).
//
// A scheme that can be told to drop packets that it cannot mark is compiled with a macro MARKLAB_DROPS_NOT_ECT of 0 or
// 1, which verdict.p4 reads; its answer is MARK with either.
#ifndef MARKLAB_TNA_MARKING_P4
#define MARKLAB_TNA_MARKING_P4

#include "../../include/verdict.p4"

// State per queue has a cell for each of 32 queues of 512 ports. The cells of one queue number lie together.
#define MARKLAB_PORTS 512
#define MARKLAB_QUEUES 16384
typedef bit<14> queue_cell_t;

// Times are the low 32 bits of the chip's stamp in ns, since no other 32 of its 48 bits can be moved in one step. They
// wrap after 4.29 s, so they are compared by the sign of their difference.

// The queue as this packet saw it.
struct queue_signals_t {
    bit<9> port;               // egress port
    bit<7> queue;              // queue of the port
    queue_cell_t cell;         // of state per queue
    bit<32> now_ns;            // time of dequeue
    bit<32> arrival_ns;        // time of enqueue
    bit<32> sojourn_ns;        // time between them
    bit<32> enq_qdepth_cells;  // cells of 80 bytes that were taken when this packet came, without it
    bit<32> deq_qdepth_cells;  // cells that it leaves behind
    bit<16> length_bytes;      // of the frame
    bit<32> flow;              // hash of the flow's 5-tuple; 0 except in steered.p4
}

#endif // MARKLAB_TNA_MARKING_P4
