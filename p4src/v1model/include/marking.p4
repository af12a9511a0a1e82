// SPDX-License-Identifier: MIT OR Apache-2.0
// Inputs and outputs of a marking decision. A scheme implements
//
//     control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause)
//
// and includes switch.p4, which calls it once per packet in egress, in the order in which packets leave their queue.
// A scheme that assigns queues itself also defines MARKLAB_STEERS and implements
//
//     control Steering(in flow_t flow, out bit<7> queue)
//     control LeaveQueue(in queue_signals_t q)
//
// Steering is called once per packet in ingress, when its port is known; LeaveQueue in egress, before Marking. A scheme
// whose queues are those of code points of ECN defines MARKLAB_CLASSIFIES instead and implements
//
//     control Classifier(in ecn_t ecn, out bit<7> queue)
//
// It includes headers.p4, which has ecn_t, and switch.p4 calls it where it would call Steering. A scheme that looks at more than the packet's own queue includes occupancy.p4. One that acts at regular times includes
// periods.p4, and one that can be told to drop packets that it cannot mark includes not_ect.p4. A scheme that marks
// with a probability calls v1model's `random` when it needs a number.
#ifndef MARKLAB_MARKING_P4
#define MARKLAB_MARKING_P4

// Ports of the switch: state per port has this many cells. Ports have up to 128 queues.
#define MARKLAB_PORTS 512
#define MARKLAB_QUEUES 65536

// The queue as this packet saw it.
struct queue_signals_t {
    bit<9> port;             // egress port
    bit<7> queue;            // queue of the port
    bit<48> now_us;          // time of dequeue, microseconds since the switch started; 0 is a valid time
    bit<32> sojourn_us;      // time from enqueue to dequeue
    bit<19> enq_qdepth_pkts; // packets that were waiting when this one came, without it
    bit<19> deq_qdepth_pkts; // packets that it leaves behind
    bit<32> pool_pkts;       // packets that waited in its pool of queues when it came; 0 without occupancy.p4
    bit<16> length_bytes;    // of the frame
    bit<32> flow;            // hash of the flow's 5-tuple; 0 unless MARKLAB_STEERS is defined
}

// A packet on its way to its queue.
struct flow_t {
    bit<9> port;             // egress port
    bit<48> now_us;          // time of arrival
    bit<16> length_bytes;    // of the frame
    bit<32> id;              // hash of the flow's 5-tuple; ECMP has chosen by its low bits
}

// Cell of a queue in state per queue, which has MARKLAB_QUEUES cells. The cells of one queue number lie together, so a
// switch with one queue per port uses as much memory as one without queue numbers.
#define MARKLAB_QUEUE_CELL(q) ((bit<32>)((q).queue ++ (q).port))

#include "../../include/verdict.p4"

#endif // MARKLAB_MARKING_P4
