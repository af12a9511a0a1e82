/* Parsers and deparsers at their limits. */
#include "before.p4"

header long_t {
    bit<744> data;
}
header small_t {
    bit<64> data;
}
struct own_t {
    h_t h;
    long_t long;
    small_t small;
}
struct own_meta_t {
    bit<32> x;
    bit<8> kind;
    bit<8> other;
    bool bad;
}

parser OwnParser(packet_in pkt, out own_t hdr, out own_meta_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    Checksum() one;
    Checksum() two;
    state start {
        pkt.extract(eg_intr_md);
        pkt.extract(hdr.h);
        md.kind = 0;
        md.x = hdr.h.a;
        transition skip;
    }
    state skip {
        pkt.advance(4);
        pkt.advance(4);
        one.add({ hdr.h.a });
        two.add({ hdr.h.a });
        md.bad = one.verify();
        transition select(hdr.h.a16, hdr.h.b16) {
            (1, 1): more;
            default: last;
        }
    }
    state more {
        md.kind = 2;
        md.bad = true;
        transition accept;
    }
    state last {
        md.kind = pkt.lookahead<bit<8>>();
        transition accept;
    }
}

control Eg(inout own_t hdr, inout own_meta_t md, in egress_intrinsic_metadata_t eg_intr_md,
           in egress_intrinsic_metadata_from_parser_t from_prsr, inout egress_intrinsic_metadata_for_deparser_t for_dprsr,
           inout egress_intrinsic_metadata_for_output_port_t for_oport) {
    apply {}
}

control OwnDeparser(packet_out pkt, inout own_t hdr, in own_meta_t md) {
    Checksum() sum;
    apply {
        hdr.h.a16 = sum.update({ hdr.h.a, hdr.h.b });
        hdr.h.b16 = sum.update({ hdr.h.a });
        hdr.h.c16 = sum.update({ hdr.h.a });
        hdr.long.data[15:0] = sum.update({ hdr.h.a });
        hdr.long.data[31:16] = sum.update({ hdr.h.a });
        hdr.small.data[15:0] = sum.update({ hdr.h.a });
        pkt.emit(hdr);
    }
}

control ResubmitDeparser(packet_out pkt, inout headers_t hdr, in meta_t md, in ingress_intrinsic_metadata_for_deparser_t d) {
    Resubmit() resubmit;
    Mirror() mirror;
    apply {
        if (d.resubmit_type == 1) {
            resubmit.emit<small_t>({ hdr.h.a ++ hdr.h.b });
        }
        if (d.mirror_type == 1) {
            mirror.emit(5);
        }
        pkt.emit(hdr);
    }
}

control Ig(INGRESS) {
    apply {}
}
Pipeline(IgParser(), Ig(), ResubmitDeparser(), OwnParser(), Eg(), OwnDeparser()) pipe;
Switch(pipe) main;
