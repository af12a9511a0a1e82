// SPDX-License-Identifier: MIT OR Apache-2.0
// The switch of schemes that leave notes for later packets (notes.p4): plain.p4, and copies of packets that egress
// makes to carry notes through egress once more.
//
//     Egress: Marking -> (note written) -> mirror -> Egress: Marking, with the note -> dropped
//
#ifndef MARKLAB_TNA_MIRRORED_P4
#define MARKLAB_TNA_MIRRORED_P4

#include "../../include/headers.p4"
#include "bridged.p4"
#include "notes.p4"
#include "verdict.p4"

struct headers_t {
    noted_t copied;
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

#include "copies.p4"
#include "forward.p4"
#include "signals.p4"

control Egress(inout headers_t hdr,
               inout egress_metadata_t meta,
               in egress_intrinsic_metadata_t eg_intr_md,
               in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
               inout egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr,
               inout egress_intrinsic_metadata_for_output_port_t eg_intr_md_for_oport) {
    Signals() signals;
    Marking() marking;
    SendCopy() send_copy;
    Verdict() verdict;

    // A note is dropped after egress, since it is not needed any more.
    action receive_note() {
        meta.q.now_ns = hdr.copied.ns;
        meta.q.port = hdr.copied.port[8:0];
        meta.q.queue = hdr.copied.queue[6:0];
        meta.q.cell = hdr.copied.queue[4:0] ++ hdr.copied.port[8:0];
        eg_intr_md_for_dprsr.drop_ctl = 1;
    }

    apply {
        if (hdr.copied.isValid()) {
            receive_note();
        } else {
            signals.apply(hdr, eg_intr_md, eg_intr_md_from_prsr, meta.q);
        }
        marking.apply(meta.q, hdr.copied, meta.note, meta.decision, meta.cause);
        if (meta.note.written == 1) {
            send_copy.apply(meta.q, meta.copy, eg_intr_md_for_dprsr);
        }
        verdict.apply(eg_intr_md.egress_port, meta.decision, meta.cause, hdr.ipv4.ecn, eg_intr_md_for_dprsr.drop_ctl);
        hdr.bridged.setInvalid();
        hdr.copied.setInvalid();
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
            mirror.emit<noted_t>(meta.copy.session, { meta.copy.kind, meta.note.what, meta.note.step, meta.copy.queue,
                                                      meta.copy.port, meta.note.ns, meta.note.value });
        }
        ipv4_checksum.apply(hdr);
        packet.emit(hdr);
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;

Switch(pipe) main;

#endif // MARKLAB_TNA_MIRRORED_P4
