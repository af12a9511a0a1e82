// SPDX-License-Identifier: MIT OR Apache-2.0
// The flow of a packet: a hash that ingress computes, for its own choice of a queue and for egress. The steered
// switches include this file after their headers_t.
#ifndef MARKLAB_TNA_FLOW_ID_P4
#define MARKLAB_TNA_FLOW_ID_P4

control HashFlow(in ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr, inout headers_t hdr,
                 inout bit<32> now_ns) {
    Hash<bit<32>>(HashAlgorithm_t.CRC32) flow_hash;

    action look() {
        now_ns = ig_intr_md_from_prsr.global_tstamp[31:0];
        hdr.bridged.flow = flow_hash.get({ hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, hdr.ports.src_port,
                                           hdr.ports.dst_port });
    }

    apply {
        look();
    }
}

// In egress.
control Identify(in headers_t hdr, inout queue_signals_t q) {
    action identify() {
        q.flow = hdr.bridged.flow;
    }

    apply {
        identify();
    }
}

#endif // MARKLAB_TNA_FLOW_ID_P4
