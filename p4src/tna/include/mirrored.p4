// SPDX-License-Identifier: MIT OR Apache-2.0
// The switch of schemes that leave notes for later packets (notes.p4): plain.p4, and copies of packets that egress
// makes to carry notes through egress once more.
//
//     Egress: Marking -> (note written) -> mirror -> Egress: Marking, with the note -> dropped
//
#ifndef MARKLAB_TNA_MIRRORED_P4
#define MARKLAB_TNA_MIRRORED_P4

#include "../../include/headers.p4"
#include "egress_kinds.p4"
#include "notes.p4"
#include "verdict.p4"

// Data from ingress for egress: a header before the packet, through the traffic manager.
header bridged_t {
    bit<8> kind;
    bit<32> arrival_ns;        // when the packet came to its queue
    bit<1> _pad;
    bit<7> queue;
}

struct headers_t {
    noted_t noted;
    bridged_t bridged;
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
}

struct egress_metadata_t {
    queue_signals_t q;
    note_t note;
    copy_t copy;
    decision_t decision;
    cause_t cause;
}

#include "forward.p4"
#include "signals.p4"

parser EgressParser(packet_in packet,
                    out headers_t hdr,
                    out egress_metadata_t meta,
                    out egress_intrinsic_metadata_t eg_intr_md) {
    BridgedParser() bridged_parser;

    state start {
        packet.extract(eg_intr_md);
        transition select(packet.lookahead<bit<8>>()) {
            KIND_COPY: parse_copy;
            default: parse_packet;
        }
    }

    state parse_copy {
        packet.extract(hdr.noted);
        transition accept;
    }

    state parse_packet {
        bridged_parser.apply(packet, hdr);
        transition accept;
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

    // A note is dropped after egress, since it is not needed any more.
    action receive_note() {
        meta.q.now_ns = hdr.noted.ns;
        meta.q.port = hdr.noted.port[8:0];
        meta.q.queue = hdr.noted.queue[6:0];
        meta.q.cell = hdr.noted.queue[4:0] ++ hdr.noted.port[8:0];
        eg_intr_md_for_dprsr.drop_ctl = 1;
    }

    action send_copy() {
        eg_intr_md_for_dprsr.mirror_type = MIRROR_COPY;
        meta.copy.session = COPY_SESSION;
        meta.copy.kind = KIND_COPY;
        meta.copy.queue = (bit<8>)meta.q.queue;
        meta.copy.port = (bit<16>)meta.q.port;
    }

    apply {
        if (hdr.noted.isValid()) {
            receive_note();
        } else {
            signals.apply(hdr, eg_intr_md, eg_intr_md_from_prsr, meta.q);
        }
        marking.apply(meta.q, hdr.noted, meta.note, meta.decision, meta.cause);
        if (meta.note.written == 1) {
            send_copy();
        }
        verdict.apply(eg_intr_md.egress_port, meta.decision, meta.cause, hdr.ipv4.ecn, eg_intr_md_for_dprsr.drop_ctl);
        hdr.bridged.setInvalid();
        hdr.noted.setInvalid();
    }
}

control EgressDeparser(packet_out packet,
                       inout headers_t hdr,
                       in egress_metadata_t meta,
                       in egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr) {
    Checksum() ipv4_checksum;
    Mirror() mirror;

    apply {
        if (eg_intr_md_for_dprsr.mirror_type == MIRROR_COPY) {
            mirror.emit<noted_t>(meta.copy.session, { meta.copy.kind, meta.note.what, meta.note.step, meta.copy.queue,
                                                      meta.copy.port, meta.note.ns, meta.note.value });
        }
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.hdr_checksum = ipv4_checksum.update({
                hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
                hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
                hdr.ipv4.src_addr, hdr.ipv4.dst_addr });
        }
        packet.emit(hdr);
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;

Switch(pipe) main;

#endif // MARKLAB_TNA_MIRRORED_P4
