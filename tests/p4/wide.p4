// Widths that fit no machine word: 1, 7, 65, 127, 200 bits.
#include <core.p4>
#include <v1model.p4>

header wide_t {
    bit<1>   one;
    bit<7>   seven;
    bit<65>  a;
    bit<127> b;
    bit<200> c;
}

struct headers_t {
    wide_t wide;
}

struct metadata_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    state start {
        packet.extract(hdr.wide);
        transition accept;
    }
}

#include "include/blank.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        hdr.wide.one = ~hdr.wide.one;
        hdr.wide.seven = hdr.wide.seven + 1;
        hdr.wide.a = hdr.wide.a + 1;
        hdr.wide.b = hdr.wide.b |-| 1;
        hdr.wide.c = (hdr.wide.c << 8) | (bit<200>)hdr.wide.b[7:0];
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.wide);
    }
}

V1Switch(TestParser(), BlankVerify(), TestIngress(), BlankEgress(), BlankCompute(), TestDeparser()) main;
