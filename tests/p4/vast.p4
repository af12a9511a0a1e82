// 2048 bits, the most that p4c takes, and a signed field of 300: arithmetic, shifts, slices, concatenation, comparison.
#include <core.p4>
#include <v1model.p4>

header op_t {
    bit<8> op;
    bit<8> result;
    bit<16> by;
}

header vast_t {
    bit<2048> a;
    int<300>  i;
    bit<4>    rest;
}

struct headers_t {
    op_t   op;
    vast_t vast;
}

struct metadata_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    state start {
        packet.extract(hdr.op);
        packet.extract(hdr.vast);
        transition accept;
    }
}

#include "include/blank.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (!hdr.vast.isValid()) {
            exit;
        }
        bit<2048> a = hdr.vast.a;
        int<300> i = hdr.vast.i;
        switch (hdr.op.op) {
            0: { hdr.vast.a = a + 1; hdr.vast.i = i - 1; }
            1: { hdr.vast.a = a * a; hdr.vast.i = i * -3; }
            2: { hdr.vast.a = a << hdr.op.by[7:0]; hdr.vast.i = i >> hdr.op.by[7:0]; }
            3: { hdr.vast.a = a[1023:0] ++ a[2047:1024]; hdr.vast.i = i |+| i; }
            4: { hdr.vast.a = a |-| (bit<2048>)hdr.op.by; hdr.vast.i = (int<300>)(int<16>)hdr.op.by; }
            5: { hdr.op.result = a < (a >> 1 | 1) ? 8w1 : 2; hdr.vast.a[199:100] = hdr.vast.a[99:0]; }
            6: { hdr.op.result = i < 0 ? 8w1 : 2; hdr.vast.a = ~a ^ (bit<2048>)hdr.op.by; }
            7: { hdr.vast.a = -a; hdr.vast.i = -i; }
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.op);
        packet.emit(hdr.vast);
    }
}

V1Switch(TestParser(), BlankVerify(), TestIngress(), BlankEgress(), BlankCompute(), TestDeparser()) main;
