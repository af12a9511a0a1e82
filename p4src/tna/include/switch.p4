// SPDX-License-Identifier: MIT OR Apache-2.0
// The switch that all schemes share on Tofino: IPv4 forwarding with ECMP, and one call of the scheme's Marking in egress. It
// does what v1model/include/switch.p4 does; entries differ where a comment says so.
//
//     parser -> Ingress: ipv4_lpm -> (ecmp) -> queue -> deparser, traffic manager, parser -> Egress: Marking -> deparser
//
#ifndef MARKLAB_TNA_SWITCH_P4
#define MARKLAB_TNA_SWITCH_P4

#include "../../include/headers.p4"
#include "marking.p4"
#include "verdict.p4"

#if defined(MARKLAB_NOTES) || defined(MARKLAB_TELLS)
#define MARKLAB_MIRRORS
#endif

#ifdef MARKLAB_MIRRORS
// Copies that egress makes for what they carry; their session leads to a port of recirculation.
const MirrorType_t MIRROR_COPY = 1;
const MirrorId_t COPY_SESSION = 1;
const PortId_t RECIRCULATION = 68;

// What comes before a packet in egress.
const bit<8> KIND_PACKET = 0;
const bit<8> KIND_COPY = 1;
#endif // MARKLAB_MIRRORS

#ifdef MARKLAB_TELLS
// Tells ingress that a queue is empty.
header emptied_t {
    bit<8> kind;
    bit<8> queue;
    bit<16> port;
}

// What a packet that starts again brings along: the queue that it was given.
header again_t {
    bit<8> queue;
    bit<56> _pad;
}

const ResubmitType_t RESUBMIT_AGAIN = 1;
#endif // MARKLAB_TELLS

// What egress needs of ingress: it goes before the packet through the traffic manager.
header bridged_t {
#ifdef MARKLAB_MIRRORS
    bit<8> kind;
#endif // MARKLAB_MIRRORS
    bit<32> arrival_ns;        // when the packet came to its queue
    bit<1> _pad;
    bit<7> queue;
#ifdef MARKLAB_STEERS
    bit<32> flow;
#endif // MARKLAB_STEERS
}

struct headers_t {
#ifdef MARKLAB_NOTES
    noted_t noted;
#endif // MARKLAB_NOTES
#ifdef MARKLAB_TELLS
    emptied_t emptied;
#endif // MARKLAB_TELLS
    bridged_t bridged;
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
}

struct ingress_metadata_t {
    bit<1> checksum_error;
#ifdef MARKLAB_TELLS
    again_t again;
    again_t next;
#endif // MARKLAB_TELLS
}

struct egress_metadata_t {
    queue_signals_t q;
#ifdef MARKLAB_NOTES
    note_t note;
#endif // MARKLAB_NOTES
#ifdef MARKLAB_MIRRORS
    MirrorId_t copy_session;
    bit<8> copy_kind;
    bit<8> copy_queue;
    bit<16> copy_port;
#endif // MARKLAB_MIRRORS
    decision_t decision;
    cause_t cause;
}

#include "routes.p4"

parser IngressParser(packet_in packet,
                     out headers_t hdr,
                     out ingress_metadata_t meta,
                     out ingress_intrinsic_metadata_t ig_intr_md) {
    Checksum() ipv4_checksum;

    state start {
        packet.extract(ig_intr_md);
        meta.checksum_error = 0;
#ifdef MARKLAB_TELLS
        transition select(ig_intr_md.resubmit_flag, ig_intr_md.ingress_port) {
            (1, _): parse_again;
            (0, RECIRCULATION): parse_emptied;
            default: parse_port_metadata;
        }
    }

    state parse_again {
        packet.extract(meta.again);
        transition parse_packet;
    }

    state parse_emptied {
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(hdr.emptied);
        transition accept;
    }

    state parse_port_metadata {
        packet.advance(PORT_METADATA_SIZE);
        transition parse_packet;
    }

    state parse_packet {
#else
        packet.advance(PORT_METADATA_SIZE);
#endif // MARKLAB_TELLS
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        ipv4_checksum.add(hdr.ipv4);
        meta.checksum_error = (bit<1>)ipv4_checksum.verify();
        // Ports are there in the first fragment of a packet only; others are hashed without them.
        transition select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_TCP): parse_ports;
            (5, 0, PROTOCOL_UDP): parse_ports;
            default: accept;
        }
    }

    state parse_ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

control Ingress(inout headers_t hdr,
                inout ingress_metadata_t meta,
                in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr,
                inout ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr,
                inout ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm) {
    Routes() routes;
#ifdef MARKLAB_STEERS
    Hash<bit<32>>(HashAlgorithm_t.CRC32) flow_hash;
    Steering() steering;
    bit<7> own_queue = 0;
    bit<32> now_ns = 0;
#endif // MARKLAB_STEERS

    action drop() {
        ig_intr_md_for_dprsr.drop_ctl = 1;
    }

#ifdef MARKLAB_STEERS
    action look() {
        now_ns = ig_intr_md_from_prsr.global_tstamp[31:0];
        hdr.bridged.flow = flow_hash.get({ hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, hdr.ports.src_port,
                                           hdr.ports.dst_port });
    }

    action use_own_queue() {
        ig_intr_md_for_tm.qid = (QueueId_t)own_queue;
        hdr.bridged.queue = own_queue;
    }
#else
    action set_queue(bit<7> queue) {
        ig_intr_md_for_tm.qid = (QueueId_t)queue;
        hdr.bridged.queue = queue;
    }

    // The queue of a service, which its packets name by their code point.
    table service_queue {
        key = {
            hdr.ipv4.dscp: exact @name("dscp");
        }
        actions = {
            set_queue;
        }
        const default_action = set_queue(0);
        size = 64;
    }
#endif // MARKLAB_STEERS

    action carry() {
        hdr.bridged.setValid();
#ifdef MARKLAB_MIRRORS
        hdr.bridged.kind = KIND_PACKET;
#endif // MARKLAB_MIRRORS
        hdr.bridged.arrival_ns = ig_intr_md_from_prsr.global_tstamp[31:0];
        hdr.bridged._pad = 0;
        hdr.bridged.queue = 0;
    }

#ifdef MARKLAB_TELLS
    // Where a queue becomes busy or empty, and which one.
    bit<9> at_port = 0;
    bit<7> given_queue = 0;
    bit<2> event = EVENT_NONE;
    bit<32> was_busy = 0;

    action take_emptied() {
        at_port = hdr.emptied.port[8:0];
        given_queue = hdr.emptied.queue[6:0];
        event = EVENT_EMPTIED;
    }

    action take_first() {
        at_port = ig_intr_md_for_tm.ucast_egress_port;
        event = EVENT_FIRST;
    }

    action take_again() {
        at_port = ig_intr_md_for_tm.ucast_egress_port;
        given_queue = meta.again.queue[6:0];
        event = EVENT_AGAIN;
    }

    action go_again() {
        ig_intr_md_for_dprsr.resubmit_type = RESUBMIT_AGAIN;
        meta.next.queue = (bit<8>)own_queue;
        meta.next._pad = 0;
    }
#endif // MARKLAB_TELLS

    // Options are not parsed, so that the checksum of a header with options could not be kept right.
    apply {
#ifdef MARKLAB_TELLS
        if (hdr.emptied.isValid()) {
            drop();
            take_emptied();
        } else
#endif // MARKLAB_TELLS
        {
            carry();
            if (!hdr.ipv4.isValid() || hdr.ipv4.version != 4 || hdr.ipv4.ihl != 5 || meta.checksum_error == 1) {
                drop();
            } else if (hdr.ipv4.ttl == 0 || hdr.ipv4.ttl == 1) {
                drop();
            } else {
                routes.apply(hdr, ig_intr_md_for_dprsr, ig_intr_md_for_tm);
#ifndef MARKLAB_STEERS
                service_queue.apply();
#else
                look();
#ifdef MARKLAB_TELLS
                if (ig_intr_md.resubmit_flag == 1) {
                    take_again();
                } else {
                    take_first();
                }
#else
                steering.apply(ig_intr_md_for_tm.ucast_egress_port, now_ns, hdr.bridged.flow, own_queue);
                use_own_queue();
#endif // MARKLAB_TELLS
#endif // MARKLAB_STEERS
            }
        }
#ifdef MARKLAB_TELLS
        if (event != EVENT_NONE) {
            steering.apply(at_port, now_ns, hdr.bridged.flow, given_queue, event, was_busy, own_queue);
        }
        use_own_queue();
        if (event == EVENT_FIRST && was_busy == 0) {
            go_again();
        }
#endif // MARKLAB_TELLS
    }
}

control IngressDeparser(packet_out packet,
                        inout headers_t hdr,
                        in ingress_metadata_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr) {
#ifdef MARKLAB_TELLS
    Resubmit() resubmit;
#endif // MARKLAB_TELLS

    apply {
#ifdef MARKLAB_TELLS
        if (ig_intr_md_for_dprsr.resubmit_type == RESUBMIT_AGAIN) {
            resubmit.emit<again_t>(meta.next);
        }
#endif // MARKLAB_TELLS
        packet.emit(hdr);
    }
}

parser EgressParser(packet_in packet,
                    out headers_t hdr,
                    out egress_metadata_t meta,
                    out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
#ifdef MARKLAB_MIRRORS
        transition select(packet.lookahead<bit<8>>()) {
            KIND_COPY: parse_copy;
            default: parse_packet;
        }
    }

    state parse_copy {
#ifdef MARKLAB_NOTES
        packet.extract(hdr.noted);
#else
        packet.extract(hdr.emptied);
#endif // MARKLAB_NOTES
        transition accept;
    }

    state parse_packet {
#endif // MARKLAB_MIRRORS
        packet.extract(hdr.bridged);
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control Egress(inout headers_t hdr,
               inout egress_metadata_t meta,
               in egress_intrinsic_metadata_t eg_intr_md,
               in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
               inout egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr,
               inout egress_intrinsic_metadata_for_output_port_t eg_intr_md_for_oport) {
    Marking() marking;
    Verdict() verdict;

    // TNA shows the queue in egress only. enq_qdepth is what the packet found when it came: a threshold on it marks the same
    // packet as a chip that marks at enqueue, one sojourn later.
    action look() {
        meta.q.port = eg_intr_md.egress_port;
        meta.q.queue = hdr.bridged.queue;
        meta.q.cell = hdr.bridged.queue[4:0] ++ eg_intr_md.egress_port;
        meta.q.enq_qdepth_cells = (bit<32>)eg_intr_md.enq_qdepth;
        meta.q.deq_qdepth_cells = (bit<32>)eg_intr_md.deq_qdepth;
        meta.q.length_bytes = eg_intr_md.pkt_length - (bit<16>)hdr.bridged.minSizeInBytes();
#ifdef MARKLAB_STEERS
        meta.q.flow = hdr.bridged.flow;
#endif // MARKLAB_STEERS
        meta.q.now_ns = eg_intr_md_from_prsr.global_tstamp[31:0];
        meta.q.arrival_ns = hdr.bridged.arrival_ns;
    }

    // deq_timedelta has 18 bits, which wrap at 262 us.
    action measure() {
        meta.q.sojourn_ns = meta.q.now_ns - hdr.bridged.arrival_ns;
    }

#ifdef MARKLAB_MIRRORS
    action send_copy() {
        eg_intr_md_for_dprsr.mirror_type = MIRROR_COPY;
        meta.copy_session = COPY_SESSION;
        meta.copy_kind = KIND_COPY;
        meta.copy_queue = (bit<8>)meta.q.queue;
        meta.copy_port = (bit<16>)meta.q.port;
    }
#endif // MARKLAB_MIRRORS

#ifdef MARKLAB_NOTES
    // A note has done all that it is for when egress is over.
    action receive_note() {
        meta.q.now_ns = hdr.noted.ns;
        meta.q.port = hdr.noted.port[8:0];
        meta.q.queue = hdr.noted.queue[6:0];
        meta.q.cell = hdr.noted.queue[4:0] ++ hdr.noted.port[8:0];
        eg_intr_md_for_dprsr.drop_ctl = 1;
    }
#endif // MARKLAB_NOTES

    apply {
#ifdef MARKLAB_TELLS
        // A copy goes on to ingress.
        if (hdr.bridged.isValid())
#endif // MARKLAB_TELLS
        {
#ifdef MARKLAB_NOTES
            if (hdr.noted.isValid()) {
                receive_note();
            } else {
                look();
                measure();
            }
            marking.apply(meta.q, hdr.noted, meta.note, meta.decision, meta.cause);
            if (meta.note.written == 1) {
                send_copy();
            }
#else
            look();
            measure();
            marking.apply(meta.q, meta.decision, meta.cause);
#endif // MARKLAB_NOTES
#ifdef MARKLAB_TELLS
            if (eg_intr_md.deq_qdepth == 0) {
                send_copy();
            }
#endif // MARKLAB_TELLS
            verdict.apply(eg_intr_md.egress_port, meta.decision, meta.cause, hdr.ipv4.ecn, eg_intr_md_for_dprsr.drop_ctl);
            hdr.bridged.setInvalid();
#ifdef MARKLAB_NOTES
            hdr.noted.setInvalid();
#endif // MARKLAB_NOTES
        }
    }
}

control EgressDeparser(packet_out packet,
                       inout headers_t hdr,
                       in egress_metadata_t meta,
                       in egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr) {
    Checksum() ipv4_checksum;
#ifdef MARKLAB_MIRRORS
    Mirror() mirror;
#endif // MARKLAB_MIRRORS

    apply {
#ifdef MARKLAB_MIRRORS
        if (eg_intr_md_for_dprsr.mirror_type == MIRROR_COPY) {
#ifdef MARKLAB_NOTES
            mirror.emit<noted_t>(meta.copy_session, { meta.copy_kind, meta.note.what, meta.note.step, meta.copy_queue,
                                                      meta.copy_port, meta.note.ns, meta.note.value });
#else
            mirror.emit<emptied_t>(meta.copy_session, { meta.copy_kind, meta.copy_queue, meta.copy_port });
#endif // MARKLAB_NOTES
        }
#endif // MARKLAB_MIRRORS
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.hdr_checksum = ipv4_checksum.update({
                hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
                hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
                hdr.ipv4.src_addr, hdr.ipv4.dst_addr });
        }
        packet.emit(hdr);
    }
}

#ifdef MARKLAB_GHOST
Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser(), Ghost()) pipe;
#else
Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
#endif // MARKLAB_GHOST

Switch(pipe) main;

#endif // MARKLAB_TNA_SWITCH_P4
