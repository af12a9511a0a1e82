// select with values, masks and ranges; lookahead, advance, verify; a sub-parser; errors that ingress sees.
#include <core.p4>
#include <v1model.p4>

error {
    BadVersion
}

header kind_t {
    bit<8> kind;
}

header pair_t {
    bit<8> first;
    bit<8> second;
}

header report_t {
    bit<8> error_code;
    bit<8> valid;
}

struct headers_t {
    kind_t   kind;
    pair_t   pair;
    report_t report;
}

struct metadata_t {
    bit<8> peeked;
}

parser PairParser(packet_in packet, out pair_t pair)(bit<8> version) {
    state start {
        packet.extract(pair);
        verify(pair.first == version, error.BadVersion);
        transition accept;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    PairParser(4) four;

    state start {
        packet.extract(hdr.kind);
        transition select(hdr.kind.kind, hdr.kind.kind[0:0]) {
            (1, _): sub;
            (0x10 &&& 0xf0, 1): skip;
            (0x20 .. 0x2f, 0): peek;
            (0xff, _): reject;
            (0xfe, 1): accept;
        }
    }

    state sub {
        four.apply(packet, hdr.pair);
        transition accept;
    }

    state skip {
        packet.advance(16);
        packet.extract(hdr.pair);
        transition accept;
    }

    state peek {
        meta.peeked = packet.lookahead<pair_t>().second;
        transition select(packet.lookahead<bit<8>>()) {
            7: skip;
            default: accept;
        }
    }
}

#include "include/blank.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        hdr.report.setValid();
        if (s.parser_error == error.NoError) {
            hdr.report.error_code = meta.peeked;
        } else if (s.parser_error == error.PacketTooShort) {
            hdr.report.error_code = 0xe1;
        } else if (s.parser_error == error.BadVersion) {
            hdr.report.error_code = 0xe2;
        } else {
            hdr.report.error_code = 0xe3;
        }
        hdr.report.valid = 6w0 ++ (bit<1>)hdr.kind.isValid() ++ (bit<1>)hdr.pair.isValid();
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.report);
        packet.emit(hdr.kind);
        packet.emit(hdr.pair);
    }
}

V1Switch(TestParser(), BlankVerify(), TestIngress(), BlankEgress(), BlankCompute(), TestDeparser()) main;
