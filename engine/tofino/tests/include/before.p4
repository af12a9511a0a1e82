/* What stands before the control under test: EGRESS are its parameters. */
#include <core.p4>
#include <tna.p4>

header h_t {
    bit<8> a8;
    bit<8> b8;
    bit<16> a16;
    bit<16> b16;
    bit<16> c16;
    bit<32> a;
    bit<32> b;
    bit<32> c;
    bit<32> d;
    bit<48> a48;
    bit<48> b48;
    int<32> s;
    int<32> t;
    int<16> s16;
}

struct headers_t {
    h_t h;
}

struct meta_t {
    bit<32> x;
    bit<32> y;
    bit<19> depth;
    bit<20> x20;
    bit<21> x21;
    bit<1> flag;
    bool yes;
    bool no;
}

struct pair_t {
    bit<32> low;
    bit<32> high;
}

parser IgParser(packet_in pkt, out headers_t hdr, out meta_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.h);
        transition accept;
    }
}

control IgDeparser(packet_out pkt, inout headers_t hdr, in meta_t md) {
    apply {
        pkt.emit(hdr);
    }
}

parser EgParser(packet_in pkt, out headers_t hdr, out meta_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        pkt.extract(eg_intr_md);
        pkt.extract(hdr.h);
        transition accept;
    }
}

control EgDeparser(packet_out pkt, inout headers_t hdr, in meta_t md) {
    apply {
        pkt.emit(hdr);
    }
}

#define INGRESS inout headers_t hdr, inout meta_t md, in ingress_intrinsic_metadata_t ig_intr_md, \
    in ingress_intrinsic_metadata_from_parser_t from_prsr, inout ingress_intrinsic_metadata_for_deparser_t for_dprsr, \
    inout ingress_intrinsic_metadata_for_tm_t for_tm
#define EGRESS inout headers_t hdr, inout meta_t md, in egress_intrinsic_metadata_t eg_intr_md, \
    in egress_intrinsic_metadata_from_parser_t from_prsr, inout egress_intrinsic_metadata_for_deparser_t for_dprsr, \
    inout egress_intrinsic_metadata_for_output_port_t for_oport
