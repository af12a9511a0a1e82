// Keys of every type and of widths beyond a word; actions with first parameters from the program and last parameters
// from the entry; tables in conditions; a table applied in two places alternately.
#include <core.p4>
#include <v1model.p4>

enum bit<8> kind_t {
    WIDE_LPM = 1,
    WIDE_TERNARY = 2,
    WIDE_RANGE = 3,
    MIXED = 4,
    GIVEN = 5
}

enum colour_t {
    RED,
    GREEN
}

header key_t {
    kind_t   kind;
    bit<8>   result;
    bit<128> wide;
    int<16>  number;
    bit<3>   small;
    bit<13>  rest;
}

struct headers_t {
    key_t key;
}

struct nested_t {
    bool   flag;
    bit<4> deep;
}

struct metadata_t {
    nested_t nested;
    colour_t colour;
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    state start {
        packet.extract(hdr.key);
        transition accept;
    }
}

#include "include/blank.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    action set(bit<8> value) {
        hdr.key.result = value;
    }

    // The entry gives `value`, the program the other parameters.
    action add(in bit<8> base, inout bit<3> small, bit<8> value) {
        hdr.key.result = base + value;
        small = small + 1;
    }

    table lpms {
        key = { hdr.key.wide: lpm; }
        actions = { set; }
        default_action = set(0xff);
    }

    table ternaries {
        key = { hdr.key.wide: ternary; hdr.key.small ++ hdr.key.rest: ternary @name("both"); }
        actions = { set; }
        default_action = set(0xff);
    }

    table ranges {
        key = { hdr.key.wide: range; hdr.key.small: range; }
        actions = { set; }
        default_action = set(0xff);
    }

    table mixed {
        key = {
            hdr.key.kind: exact;
            hdr.key.number: exact;
            meta.nested.flag: exact;
            meta.nested.deep: ternary;
            meta.colour == colour_t.GREEN: exact @name("green");
            hdr.key.isValid(): exact;
        }
        actions = { set; }
        default_action = set(0xff);
    }

    table given {
        key = { hdr.key.rest: exact; }
        actions = { add(hdr.key.wide[7:0], hdr.key.small); set; }
        default_action = set(0xff);
    }

    apply {
        s.egress_spec = 1;
        if (!hdr.key.isValid()) {
            exit;
        }
        meta.nested.flag = hdr.key.small[0:0] == 1;
        meta.nested.deep = hdr.key.rest[3:0];
        meta.colour = hdr.key.small[1:1] == 1 ? colour_t.GREEN : colour_t.RED;
        switch (hdr.key.kind) {
            kind_t.WIDE_LPM: { lpms.apply(); }
            kind_t.WIDE_TERNARY: { ternaries.apply(); }
            kind_t.WIDE_RANGE: { ranges.apply(); }
            kind_t.MIXED: {
                if (mixed.apply().miss && hdr.key.number < 0) {
                    hdr.key.result = 0xfe;
                }
            }
            kind_t.GIVEN: {
                if (!given.apply().hit || hdr.key.small == 0) {
                    hdr.key.number = -1;
                }
            }
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.key);
    }
}

V1Switch(TestParser(), BlankVerify(), TestIngress(), BlankEgress(), BlankCompute(), TestDeparser()) main;
