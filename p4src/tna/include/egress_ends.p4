// SPDX-License-Identifier: MIT OR Apache-2.0
// Parser and deparser of egress in switches that make no copies. plain.p4 and steered_by_ghost.p4 include this file
// after their headers_t and egress_metadata_t.
#ifndef MARKLAB_TNA_EGRESS_ENDS_P4
#define MARKLAB_TNA_EGRESS_ENDS_P4

#include "parsers.p4"

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

control EgressDeparser(packet_out packet,
                       inout headers_t hdr,
                       in egress_metadata_t meta,
                       in egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr) {
    Checksum() ipv4_checksum;

    apply {
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.hdr_checksum = ipv4_checksum.update({
                hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
                hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
                hdr.ipv4.src_addr, hdr.ipv4.dst_addr });
        }
        packet.emit(hdr);
    }
}

#endif // MARKLAB_TNA_EGRESS_ENDS_P4
