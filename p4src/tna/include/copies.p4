// SPDX-License-Identifier: MIT OR Apache-2.0
// Copies that egress makes to carry data. Switches include this file after their headers_t, whose `copied` is the data
// of a copy, and their egress_metadata_t.
#ifndef MARKLAB_TNA_COPIES_P4
#define MARKLAB_TNA_COPIES_P4

#include "parsers.p4"

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
        packet.extract(hdr.copied);
        transition accept;
    }

    state parse_packet {
        bridged_parser.apply(packet, hdr);
        transition accept;
    }
}

// Mirrors the packet, with its queue. The deparser adds the rest of `copied`.
control SendCopy(in queue_signals_t q,
                 inout copy_t copy,
                 inout egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr) {
    action send() {
        eg_intr_md_for_dprsr.mirror_type = MIRROR_COPY;
        copy.session = COPY_SESSION;
        copy.kind = KIND_COPY;
        copy.queue = (bit<8>)q.queue;
        copy.port = (bit<16>)q.port;
    }

    apply {
        send();
    }
}

#endif // MARKLAB_TNA_COPIES_P4
