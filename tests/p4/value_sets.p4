// Parser value sets, of one component and of several, with other cases. They have 9 and 17 bits, because simple_switch_CLI
// 1.15 passes a byte too many for some other widths, which makes simple_switch end.
#include <core.p4>
#include <v1model.p4>

header key_t {
    bit<9>  kind;
    bit<12> first;
    bit<5>  second;
    bit<6>  report;
}

struct headers_t {
    key_t key;
}

struct pair_t {
    @match(exact)
    bit<12> first;
    bit<5>  second;
}

struct metadata_t {
    bit<6> seen;
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    value_set<bit<9>>(4) kinds;
    value_set<pair_t>(4) pairs;
    value_set<tuple<bit<12>, bit<5>>>(4) tuples;

    state start {
        packet.extract(hdr.key);
        transition select(hdr.key.kind) {
            0x1ff: accept;
            kinds: of_kinds;
            0x10 .. 0x1f: in_range;
            default: others;
        }
    }

    state of_kinds {
        meta.seen = 1;
        transition accept;
    }

    state in_range {
        meta.seen = 2;
        transition accept;
    }

    state others {
        transition select(hdr.key.first, hdr.key.second) {
            pairs: of_pairs;
            tuples: of_tuples;
            default: accept;
        }
    }

    state of_pairs {
        meta.seen = 3;
        transition accept;
    }

    state of_tuples {
        meta.seen = 4;
        transition accept;
    }
}

#include "include/blank.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (hdr.key.isValid()) {
            hdr.key.report = meta.seen;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.key);
    }
}

V1Switch(TestParser(), BlankVerify(), TestIngress(), BlankEgress(), BlankCompute(), TestDeparser()) main;
