// SPDX-License-Identifier: MIT OR Apache-2.0
// Parser and deparser of ingress in switches where a packet enters ingress once. forward.p4 and steered_by_ghost.p4
// include this file after the switch's headers_t.
#ifndef MARKLAB_TNA_INGRESS_ENDS_P4
#define MARKLAB_TNA_INGRESS_ENDS_P4

#include "parsers.p4"

struct ingress_metadata_t {
    bit<1> checksum_error;
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

control IngressDeparser(packet_out packet,
                        inout headers_t hdr,
                        in ingress_metadata_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr) {
    apply {
        packet.emit(hdr);
    }
}

#endif // MARKLAB_TNA_INGRESS_ENDS_P4
