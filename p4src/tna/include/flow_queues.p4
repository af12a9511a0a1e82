// SPDX-License-Identifier: MIT OR Apache-2.0
// A queue for each active flow on Tofino: DiffECN's queue mapping unit; see v1model/include/flow_queues.p4.
//
// Ingress keeps a bit for each queue that is not empty; steered.p4 describes how it learns this. A scheme includes this
// file and ends with steered.p4.
//
// Unlike on v1model, a flow beyond its limit in the queue of high priority goes to a queue by its hash, not to the
// shortest one: the chip cannot compare 31 lengths for a packet. The limit counts packets. All ports share one flow
// map.
#ifndef MARKLAB_TNA_FLOW_QUEUES_P4
#define MARKLAB_TNA_FLOW_QUEUES_P4

#include "chip.p4"
#include "marking.p4"

// Packets that a flow may send through the queue of high priority: a constant of the program.
#ifndef MARKLAB_PASS_LIMIT
#define MARKLAB_PASS_LIMIT 10
#endif

// In place of a queue's number: the queue of high priority, whichever number it has.
const bit<32> PRIORITY = 0xff;

// Per port: a bit for each queue that is not empty.
Register<bit<32>, bit<9>>(MARKLAB_PORTS, 0) busy_queues;

// The queue of a flow, and the packets that the flow may still send through the queue of high priority.
struct mapping_t {
    bit<32> queue;
    bit<32> left;
}

// Records that a queue is busy or empty.
control QueueBits(in bit<9> port, in bit<7> queue, in bit<1> is_empty, out bit<32> other_bits) {
    bit<32> queue_bit = 0;

    RegisterAction<bit<32>, bit<9>, bit<32>>(busy_queues) set_busy = {
        void apply(inout bit<32> busy) {
            busy = busy | queue_bit;
        }
    };
    RegisterAction<bit<32>, bit<9>, bit<32>>(busy_queues) set_empty = {
        void apply(inout bit<32> busy) {
            busy = busy & other_bits;
        }
    };

    action set_bits(bit<32> one, bit<32> others) {
        queue_bit = one;
        other_bits = others;
    }

    // A word with the queue's bit, and its complement.
    table bits_of_queue {
        key = { queue: exact @name("queue"); }
        actions = { set_bits; }
        default_action = set_bits(0, 0xffffffff);
        size = 128;
    }

    apply {
        bits_of_queue.apply();
        if (is_empty == 1) {
            set_empty.execute(port);
        } else {
            set_busy.execute(port);
        }
    }
}

// The queue of a packet. `mapped` is its number, or PRIORITY.
// p4c splits a field that is only copied, and what goes into a register must lie in one container.
@pa_atomic("ingress", "steering_chosen")
@pa_atomic("ingress", "steering_at_the_limit")
control Steering(in bit<9> port, in bit<32> now_ns, in bit<32> flow, inout bit<32> mapped, out bit<7> queue) {
    Hash<bit<15>>(HashAlgorithm_t.CRC16) map_hash;
    // Per entry of the flow map: when its flow sent a packet last, and its mapping.
    Register<int<32>, bit<15>>(32768, -1073741824) last_packet;
    Register<mapping_t, bit<15>>(32768, { 0xff, 0 }) flow_map;

    bit<15> entry = 0;
    int<32> now = 0;
    int<32> a_period_ago = 0;
    bit<7> priority_queue = 0;
    bit<32> busy = 0;
    bit<32> chosen = 0;
    bit<32> at_the_limit = 0;
    bit<1> is_new = 0;

    // minus_period_ns: 2^32 less t_period.
    action set_steering(bit<7> high, bit<32> minus_period_ns) {
        priority_queue = high;
        now = (int<32>)now_ns;
        a_period_ago = (int<32>)(now_ns + minus_period_ns);
    }

    table steering_params {
        actions = { set_steering; }
        default_action = set_steering(31, 4294667296);
        size = 1;
    }

    action find_entry() {
        entry = map_hash.get({ flow, port });
    }

    RegisterAction<bit<32>, bit<9>, bit<32>>(busy_queues) look_at_queues = {
        void apply(inout bit<32> bits, out bit<32> found) {
            found = bits;
        }
    };

    action set_empty(bit<32> number) {
        chosen = number;
        at_the_limit = number;
    }

    action none_empty() {
        chosen = PRIORITY;
        at_the_limit = 28w0 ++ flow[19:16];
    }

    // The first empty queue, by one lookup over all of them.
    table empty_queue {
        key = { busy: ternary @name("busy"); }
        actions = { set_empty; none_empty; }
        default_action = none_empty();
        size = 32;
    }

    RegisterAction<int<32>, bit<15>, bit<1>>(last_packet) note_packet = {
        void apply(inout int<32> last, out bit<1> long_ago) {
            if (a_period_ago - last > 0) {
                long_ago = 1;
            } else {
                long_ago = 0;
            }
            last = now;
        }
    };

    RegisterAction<mapping_t, bit<15>, bit<32>>(flow_map) map_anew = {
        void apply(inout mapping_t m, out bit<32> number) {
            m.queue = chosen;
            m.left = MARKLAB_PASS_LIMIT;
            number = m.queue;
        }
    };
    RegisterAction<mapping_t, bit<15>, bit<32>>(flow_map) keep = {
        void apply(inout mapping_t m, out bit<32> number) {
            if (m.queue == PRIORITY && m.left == 0) {
                m.queue = at_the_limit;
            } else if (m.queue == PRIORITY) {
                m.queue = chosen;
                m.left = m.left - 1;
            }
            number = m.queue;
        }
    };

    action use_priority() {
        queue = priority_queue;
    }

    action use_mapped() {
        queue = mapped[6:0];
    }

    apply {
        find_entry();
        steering_params.apply();
        busy = look_at_queues.execute(port);
        empty_queue.apply();
        is_new = note_packet.execute(entry);
        if (is_new == 1) {
            mapped = map_anew.execute(entry);
        } else {
            mapped = keep.execute(entry);
        }
        if (mapped == PRIORITY) {
            use_priority();
        } else {
            use_mapped();
        }
    }
}

#endif // MARKLAB_TNA_FLOW_QUEUES_P4
