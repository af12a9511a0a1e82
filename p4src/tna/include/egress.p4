// SPDX-License-Identifier: MIT OR Apache-2.0
// Egress of switches that make no copies. plain.p4 and steered_by_ghost.p4 include this file after their headers_t and
// their Identify, which sets the packet's flow.
#ifndef MARKLAB_TNA_EGRESS_P4
#define MARKLAB_TNA_EGRESS_P4

#include "parsers.p4"
#include "signals.p4"
#include "verdict.p4"

struct egress_metadata_t {
    queue_signals_t q;
    decision_t decision;
    cause_t cause;
}

parser EgressParser(packet_in packet,
                    out headers_t hdr,
                    out egress_metadata_t meta,
                    out egress_intrinsic_metadata_t eg_intr_md) {
    BridgedParser() bridged_parser;

    state start {
        packet.extract(eg_intr_md);
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
    Identify() identify;
    Signals() signals;
    Marking() marking;
    Verdict() verdict;

    apply {
        identify.apply(hdr, meta.q);
        signals.apply(hdr, eg_intr_md, eg_intr_md_from_prsr, meta.q);
        marking.apply(meta.q, meta.decision, meta.cause);
        verdict.apply(eg_intr_md.egress_port, meta.decision, meta.cause, hdr.ipv4.ecn, eg_intr_md_for_dprsr.drop_ctl);
        hdr.bridged.setInvalid();
    }
}

control EgressDeparser(packet_out packet,
                       inout headers_t hdr,
                       in egress_metadata_t meta,
                       in egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr) {
    Ipv4Checksum() ipv4_checksum;

    apply {
        ipv4_checksum.apply(hdr);
        packet.emit(hdr);
    }
}

#endif // MARKLAB_TNA_EGRESS_P4
