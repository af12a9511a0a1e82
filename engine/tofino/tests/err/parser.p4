/* Parsers and deparsers. */
#include "before.p4"
#define HAS_PARSER

header long_t {
    bit<832> data;
}
struct own_t {
    h_t h;
    h_t again;
    long_t long;
    h_t deep;
}
struct own_meta_t {
    bit<32> x;
    bit<8> kind;
    bit<8> other;
    bool bad;
}

parser OwnParser(packet_in pkt, out own_t hdr, out own_meta_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start { // E1204
        pkt.extract(eg_intr_md);
        pkt.extract(hdr.h);
        md.kind = 1;
        md.other = 1;
        transition skip;
    }
    state skip { // E1202
        pkt.advance(12);
        md.other = 2; // E1205
        md.x = hdr.h.a + 1; // E1206
        transition select(hdr.h.a, hdr.h.a8) { // E1203
            (1, 1): more;
            default: last;
        }
    }
    state more {
        pkt.advance((bit<32>)hdr.h.a8); // E1201
        pkt.extract(hdr.long);
        md.kind = 2; // W1201
        transition accept;
    }
    state last {
        transition accept;
    }
}

control Eg(inout own_t hdr, inout own_meta_t md, in egress_intrinsic_metadata_t eg_intr_md,
           in egress_intrinsic_metadata_from_parser_t from_prsr, inout egress_intrinsic_metadata_for_deparser_t for_dprsr,
           inout egress_intrinsic_metadata_for_output_port_t for_oport) {
    apply {}
}

control OwnDeparser(packet_out pkt, inout own_t hdr, in own_meta_t md) {
    Digest<h_t>() digest;
    Checksum() sum;
    apply {
        hdr.h.a = hdr.h.b; // E1208
        hdr.h.a16 = sum.update({ hdr.h.a });
        hdr.h.b16 = sum.update({ hdr.h.a });
        hdr.h.c16 = sum.update({ hdr.h.a });
        hdr.again.a16 = sum.update({ hdr.h.a });
        hdr.again.b16 = sum.update({ hdr.h.a });
        hdr.again.c16 = sum.update({ hdr.h.a });
        hdr.deep.a16 = sum.update({ hdr.h.a }); // E1207
        if (md.kind == 1) {
            pkt.emit(hdr.again); // E1209
        }
        pkt.emit(hdr.h);
    }
}

control ResubmitDeparser(packet_out pkt, inout headers_t hdr, in meta_t md, in ingress_intrinsic_metadata_for_deparser_t d) {
    Resubmit() resubmit;
    apply {
        if (d.resubmit_type == 1) {
            resubmit.emit(hdr.h); // E1210
        }
        pkt.emit(hdr);
    }
}

control Ig(INGRESS) {
    apply {}
}
Pipeline(IgParser(), Ig(), ResubmitDeparser(), OwnParser(), Eg(), OwnDeparser()) pipe;
Switch(pipe) main;
