// Header stacks: next and last in a parser that loops, push_front, pop_front, constant and run-time indices.
#include <core.p4>
#include <v1model.p4>

header op_t {
    bit<8> op;
    bit<8> index;
}

header label_t {
    bit<7> label;
    bit<1> bottom;
}

struct headers_t {
    op_t       op;
    label_t[3] labels;
}

struct metadata_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    state start {
        packet.extract(hdr.op);
        transition label;
    }

    state label {
        packet.extract(hdr.labels.next);
        transition select(hdr.labels.last.bottom) {
            0: label;
            1: accept;
        }
    }
}

#include "include/blank.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (s.parser_error == error.StackOutOfBounds) {
            hdr.op.op = 0xe3;
        }
        switch (hdr.op.op) {
            1: { hdr.labels.push_front(1); hdr.labels[0] = { 0x2a, 0 }; }
            2: { hdr.labels.pop_front(1); }
            3: { hdr.labels[2] = hdr.labels[0]; }
            4: { if (hdr.op.index < 3) { hdr.labels[hdr.op.index].label = 0x7f; } }
            5: { if (hdr.op.index < 3) { hdr.labels[0].label = hdr.labels[hdr.op.index].label; } }
            6: { hdr.labels[1].setInvalid(); }
            7: { if (hdr.labels[0] == hdr.labels[1]) { hdr.op.index = 1; } }
            8: { hdr.op.index = (bit<8>)hdr.labels.size; }
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), BlankVerify(), TestIngress(), BlankEgress(), BlankCompute(), TestDeparser()) main;
