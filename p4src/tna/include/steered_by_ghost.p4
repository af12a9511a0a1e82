// SPDX-License-Identifier: MIT OR Apache-2.0
// steered.p4 on Tofino 2, whose traffic manager reports each change of a queue's length to the ghost thread.
//
//     parser -> Ingress: ipv4_lpm -> (ecmp) -> Steering -> deparser, traffic manager, parser -> Egress: Marking -> deparser
//     Ghost: the bit of a queue
//
#ifndef MARKLAB_TNA_STEERED_BY_GHOST_P4
#define MARKLAB_TNA_STEERED_BY_GHOST_P4

#include "../../include/headers.p4"
#include "egress_kinds.p4"
#include "flow_queues.p4"
#include "verdict.p4"

// Data from ingress for egress: a header before the packet, through the traffic manager.
header bridged_t {
    bit<8> kind;
    bit<32> arrival_ns;        // when the packet came to its queue
    bit<1> _pad;
    bit<7> queue;
    bit<32> flow;
}

struct headers_t {
    bridged_t bridged;
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
}

struct ingress_metadata_t {
    bit<1> checksum_error;
}

struct egress_metadata_t {
    queue_signals_t q;
    decision_t decision;
    cause_t cause;
}

#include "parsers.p4"
#include "routes.p4"
#include "signals.p4"
#include "egress_ends.p4"

control Ghost(in ghost_intrinsic_metadata_t gh_intr_md) {
    QueueBits() queue_bits;
    bit<1> is_empty = 0;
    bit<32> other_bits = 0;

    apply {
        if (gh_intr_md.qlength == 0) {
            is_empty = 1;
        }
        queue_bits.apply(3w0 ++ gh_intr_md.qid[10:5], 2w0 ++ gh_intr_md.qid[4:0], is_empty, other_bits);
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
        packet.advance(PORT_METADATA_SIZE);
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
    Routes() routes;
    Steering() steering;
    Hash<bit<32>>(HashAlgorithm_t.CRC32) flow_hash;
    bit<7> own_queue = 0;
    bit<32> mapped = 0;
    bit<32> now_ns = 0;

    action drop() {
        ig_intr_md_for_dprsr.drop_ctl = 1;
    }

    action look() {
        now_ns = ig_intr_md_from_prsr.global_tstamp[31:0];
        hdr.bridged.flow = flow_hash.get({ hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, hdr.ports.src_port,
                                           hdr.ports.dst_port });
    }

    action use_own_queue() {
        ig_intr_md_for_tm.qid = (QueueId_t)own_queue;
        hdr.bridged.queue = own_queue;
    }

    action carry() {
        hdr.bridged.setValid();
        hdr.bridged.kind = KIND_PACKET;
        hdr.bridged.arrival_ns = ig_intr_md_from_prsr.global_tstamp[31:0];
        hdr.bridged._pad = 0;
        hdr.bridged.queue = 0;
    }

    // Options are not parsed, so the checksum of a header with options could not be kept correct.
    apply {
        carry();
        if (!hdr.ipv4.isValid() || hdr.ipv4.version != 4 || hdr.ipv4.ihl != 5 || meta.checksum_error == 1) {
            drop();
        } else if (hdr.ipv4.ttl == 0 || hdr.ipv4.ttl == 1) {
            drop();
        } else {
            routes.apply(hdr, ig_intr_md_for_dprsr, ig_intr_md_for_tm);
            look();
            steering.apply(ig_intr_md_for_tm.ucast_egress_port, now_ns, hdr.bridged.flow, mapped, own_queue);
            use_own_queue();
        }
    }
}

control IngressDeparser(packet_out packet,
                        inout headers_t hdr,
                        in ingress_metadata_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr) {
    apply {
        packet.emit(hdr);
    }
}

control Egress(inout headers_t hdr,
               inout egress_metadata_t meta,
               in egress_intrinsic_metadata_t eg_intr_md,
               in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
               inout egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr,
               inout egress_intrinsic_metadata_for_output_port_t eg_intr_md_for_oport) {
    Signals() signals;
    Marking() marking;
    Verdict() verdict;

    action identify() {
        meta.q.flow = hdr.bridged.flow;
    }

    apply {
        identify();
        signals.apply(hdr, eg_intr_md, eg_intr_md_from_prsr, meta.q);
        marking.apply(meta.q, meta.decision, meta.cause);
        verdict.apply(eg_intr_md.egress_port, meta.decision, meta.cause, hdr.ipv4.ecn, eg_intr_md_for_dprsr.drop_ctl);
        hdr.bridged.setInvalid();
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser(), Ghost()) pipe;

Switch(pipe) main;

#endif // MARKLAB_TNA_STEERED_BY_GHOST_P4
