// SPDX-License-Identifier: MIT OR Apache-2.0
// steered.p4 on Tofino 1, where ingress learns about queues from packets. A packet that finds its queue empty is
// resubmitted to report that it is busy; a packet that leaves its queue empty sends a copy to ingress (mirror,
// recirculation).
//
//     parser -> Ingress: ipv4_lpm -> (ecmp) -> Steering -> deparser, traffic manager
//     parser -> Egress: Marking -> deparser
//     resubmitted: Ingress: the bit of the packet's queue; copy: Ingress: the bit of the queue that is empty -> dropped
//
#ifndef MARKLAB_TNA_STEERED_BY_PACKETS_P4
#define MARKLAB_TNA_STEERED_BY_PACKETS_P4

#include "../../include/headers.p4"
#include "bridged.p4"
#include "flow_queues.p4"
#include "verdict.p4"

const PortId_t RECIRCULATION = 68;
const ResubmitType_t RESUBMIT_QUEUE = 1;

// Why a packet enters ingress.
const bit<2> EVENT_NONE = 0;
const bit<2> EVENT_FIRST = 1;            // it is given a queue
const bit<2> EVENT_RESUBMITTED = 2;      // its queue was empty, and is busy now
const bit<2> EVENT_EMPTIED = 3;          // it is a copy: a queue is empty now

// Tells ingress that a queue is empty.
header emptied_t {
    bit<8> kind;
    bit<8> queue;
    bit<16> port;
}

// What a resubmitted packet brings along: the queue that it was given.
header resubmitted_t {
    bit<8> queue;
    bit<56> _pad;
}

struct headers_t {
    emptied_t copied;
    bridged_flow_t bridged;
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
}

struct ingress_metadata_t {
    bit<1> checksum_error;
    resubmitted_t resubmitted;
    resubmitted_t next;
}

struct egress_metadata_t {
    queue_signals_t q;
    copy_t copy;
    decision_t decision;
    cause_t cause;
}

#include "carry.p4"
#include "copies.p4"
#include "flow_id.p4"
#include "parsers.p4"
#include "routes.p4"
#include "signals.p4"

// The same bits as busy_queues, in a stage where a packet's queue is known. A packet checks here whether its queue was
// busy; a resubmitted packet sets the bit in busy_queues.
Register<bit<32>, bit<9>>(MARKLAB_PORTS, 0) occupied_queues;

// Marks the queue of a packet as busy. `was_busy` is 0 if it was empty.
control Occupying(in bit<9> port, in bit<32> mapped, out bit<32> was_busy) {
    bit<32> own_bit = 0;

    action set_own_bit(bit<32> one) {
        own_bit = one;
    }

    table bit_of_own_queue {
        key = { mapped[7:0]: exact @name("queue"); }
        actions = { set_own_bit; }
        default_action = set_own_bit(0);
        size = 256;
    }

    RegisterAction<bit<32>, bit<9>, bit<32>>(occupied_queues) occupy = {
        void apply(inout bit<32> occupied, out bit<32> was) {
            was = occupied & own_bit;
            occupied = occupied | own_bit;
        }
    };

    apply {
        bit_of_own_queue.apply();
        was_busy = occupy.execute(port);
    }
}

// Records that a queue has become busy or empty.
control QueueReport(in bit<9> port, in bit<7> queue, in bit<2> event) {
    QueueBits() queue_bits;
    bit<1> is_empty = 0;
    bit<32> other_bits = 0;

    RegisterAction<bit<32>, bit<9>, bit<32>>(occupied_queues) leave = {
        void apply(inout bit<32> occupied) {
            occupied = occupied & other_bits;
        }
    };

    apply {
        if (event == EVENT_EMPTIED) {
            is_empty = 1;
        }
        queue_bits.apply(port, queue, is_empty, other_bits);
        if (event == EVENT_EMPTIED) {
            leave.execute(port);
        }
    }
}

parser IngressParser(packet_in packet,
                     out headers_t hdr,
                     out ingress_metadata_t meta,
                     out ingress_intrinsic_metadata_t ig_intr_md) {
    PacketParser() packet_parser;

    state start {
        packet.extract(ig_intr_md);
        meta.checksum_error = 0;
        transition select(ig_intr_md.resubmit_flag, ig_intr_md.ingress_port) {
            (1, _): parse_resubmitted;
            (0, RECIRCULATION): parse_emptied;
            default: parse_port_metadata;
        }
    }

    state parse_resubmitted {
        packet.extract(meta.resubmitted);
        transition parse_packet;
    }

    state parse_emptied {
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(hdr.copied);
        transition accept;
    }

    state parse_port_metadata {
        packet.advance(PORT_METADATA_SIZE);
        transition parse_packet;
    }

    state parse_packet {
        packet_parser.apply(packet, hdr, meta.checksum_error);
        transition accept;
    }
}

control Ingress(inout headers_t hdr,
                inout ingress_metadata_t meta,
                in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr,
                inout ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr,
                inout ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm) {
    Carry() carry;
    Routes() routes;
    HashFlow() hash_flow;
    Steering() steering;
    Occupying() occupying;
    QueueReport() queue_report;
    bit<7> own_queue = 0;
    bit<32> mapped = 0;
    bit<32> now_ns = 0;
    // Port and number of the queue that becomes busy or empty.
    bit<9> at_port = 0;
    bit<7> given_queue = 0;
    bit<2> event = EVENT_NONE;
    bit<32> was_busy = 0;

    action drop() {
        ig_intr_md_for_dprsr.drop_ctl = 1;
    }

    action use_own_queue() {
        ig_intr_md_for_tm.qid = (QueueId_t)own_queue;
        hdr.bridged.queue = own_queue;
    }

    action take_emptied() {
        at_port = hdr.copied.port[8:0];
        given_queue = hdr.copied.queue[6:0];
        event = EVENT_EMPTIED;
    }

    action take_first() {
        at_port = ig_intr_md_for_tm.ucast_egress_port;
        event = EVENT_FIRST;
    }

    action take_resubmitted() {
        at_port = ig_intr_md_for_tm.ucast_egress_port;
        given_queue = meta.resubmitted.queue[6:0];
        event = EVENT_RESUBMITTED;
    }

    action use_given() {
        own_queue = given_queue;
    }

    action resubmit_packet() {
        ig_intr_md_for_dprsr.resubmit_type = RESUBMIT_QUEUE;
        meta.next.queue = (bit<8>)own_queue;
        meta.next._pad = 0;
    }

    // Options are not parsed, so the checksum of a header with options could not be kept correct.
    apply {
        if (hdr.copied.isValid()) {
            drop();
            take_emptied();
        } else {
            carry.apply(ig_intr_md_from_prsr, hdr);
            if (!hdr.ipv4.isValid() || hdr.ipv4.version != 4 || hdr.ipv4.ihl != 5 || meta.checksum_error == 1) {
                drop();
            } else if (hdr.ipv4.ttl == 0 || hdr.ipv4.ttl == 1) {
                drop();
            } else {
                routes.apply(hdr, ig_intr_md_for_dprsr, ig_intr_md_for_tm);
                hash_flow.apply(ig_intr_md_from_prsr, hdr, now_ns);
                if (ig_intr_md.resubmit_flag == 1) {
                    take_resubmitted();
                } else {
                    take_first();
                }
            }
        }
        if (event == EVENT_FIRST) {
            steering.apply(at_port, now_ns, hdr.bridged.flow, mapped, own_queue);
            occupying.apply(at_port, mapped, was_busy);
        } else if (event != EVENT_NONE) {
            use_given();
            queue_report.apply(at_port, given_queue, event);
        }
        use_own_queue();
        if (event == EVENT_FIRST && was_busy == 0) {
            resubmit_packet();
        }
    }
}

control IngressDeparser(packet_out packet,
                        inout headers_t hdr,
                        in ingress_metadata_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr) {
    Resubmit() resubmit;

    apply {
        if (ig_intr_md_for_dprsr.resubmit_type == RESUBMIT_QUEUE) {
            resubmit.emit<resubmitted_t>(meta.next);
        }
        packet.emit(hdr);
    }
}

control Egress(inout headers_t hdr,
               inout egress_metadata_t meta,
               in egress_intrinsic_metadata_t eg_intr_md,
               in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
               inout egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr,
               inout egress_intrinsic_metadata_for_output_port_t eg_intr_md_for_oport) {
    Identify() identify;
    Signals() signals;
    Marking() marking;
    SendCopy() send_copy;
    Verdict() verdict;

    // A copy passes egress unchanged, on its way to ingress.
    apply {
        if (hdr.bridged.isValid()) {
            identify.apply(hdr, meta.q);
            signals.apply(hdr, eg_intr_md, eg_intr_md_from_prsr, meta.q);
            marking.apply(meta.q, meta.decision, meta.cause);
            if (eg_intr_md.deq_qdepth == 0) {
                send_copy.apply(meta.q, meta.copy, eg_intr_md_for_dprsr);
            }
            verdict.apply(eg_intr_md.egress_port, meta.decision, meta.cause, hdr.ipv4.ecn,
                          eg_intr_md_for_dprsr.drop_ctl);
            hdr.bridged.setInvalid();
        }
    }
}

control EgressDeparser(packet_out packet,
                       inout headers_t hdr,
                       in egress_metadata_t meta,
                       in egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr) {
    Ipv4Checksum() ipv4_checksum;
    Mirror() mirror;

    apply {
        if (eg_intr_md_for_dprsr.mirror_type == MIRROR_COPY) {
            mirror.emit<emptied_t>(meta.copy.session, { meta.copy.kind, meta.copy.queue, meta.copy.port });
        }
        ipv4_checksum.apply(hdr);
        packet.emit(hdr);
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;

Switch(pipe) main;

#endif // MARKLAB_TNA_STEERED_BY_PACKETS_P4
