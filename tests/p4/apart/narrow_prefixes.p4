// Keys of kind lpm whose width is no multiple of 8: simple_switch counts the prefix from the first bit of the first byte,
// where such a key has no bits. Together with a range or ternary key, the first entry wins, not the longest prefix.
#include <core.p4>
#include <v1model.p4>

header key_t {
    bit<4>  table_number;
    bit<7>  prefix;
    bit<5>  number;
    bit<16> found;
}

struct headers_t {
    key_t key;
}

struct metadata_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    state start {
        packet.extract(hdr.key);
        transition accept;
    }
}

#include "../include/blank.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    action set(bit<16> value) {
        hdr.key.found = value;
    }

    action leave() {
        hdr.key.found = 0xdddd;
        exit;
    }

    table alone {
        key = { hdr.key.prefix: lpm; }
        actions = { set; }
        default_action = set(0xffff);
        const entries = {
            0 &&& 64: set(1);
            64 &&& 96: set(2);
            96 &&& 112: set(3);
        }
    }

    table beside_range {
        key = { hdr.key.prefix: lpm; hdr.key.number: range; }
        actions = { set; leave; }
        default_action = set(0xffff);
        const entries = {
            (64 &&& 96, 1 .. 8): set(1);
            (0 &&& 64, _): set(2);
            (_, 31): leave();
            // Longer than the second entry, but after it.
            (32 &&& 96, _): set(4);
        }
    }

    table beside_ternary {
        key = { hdr.key.prefix: lpm; hdr.key.number: ternary; }
        actions = { set; }
        default_action = set(0xffff);
        const entries = {
            (64 &&& 96, 1): set(1);
            (0 &&& 64, _): set(2);
            (32 &&& 96, _): set(3);
        }
    }

    apply {
        s.egress_spec = 1;
        switch (hdr.key.table_number) {
            0: { alone.apply(); }
            1: { beside_range.apply(); }
            2: { beside_ternary.apply(); }
        }
        hdr.key.table_number = 0xf;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), BlankVerify(), TestIngress(), BlankEgress(), BlankCompute(), TestDeparser()) main;
