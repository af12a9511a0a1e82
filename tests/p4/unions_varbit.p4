// Header unions: at most one member is valid. varbit: the packet gives its width.
#include <core.p4>
#include <v1model.p4>

header kind_t {
    bit<8> kind;
    bit<8> words;
}

header short_t {
    bit<8> value;
}

header long_t {
    bit<16> value;
}

header options_t {
    varbit<32> bytes;
}

header_union either_t {
    short_t small;
    long_t  large;
}

struct headers_t {
    kind_t    kind;
    either_t  either;
    options_t options;
}

struct metadata_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    state start {
        packet.extract(hdr.kind);
        transition select(hdr.kind.kind) {
            1: small;
            2 .. 4: large;
            5: options;
            default: accept;
        }
    }

    state small {
        packet.extract(hdr.either.small);
        transition accept;
    }

    state large {
        packet.extract(hdr.either.large);
        transition accept;
    }

    state options {
        packet.extract(hdr.options, (bit<32>)hdr.kind.words * 8);
        transition accept;
    }
}

#include "include/blank.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (!hdr.kind.isValid()) {
            exit;
        }
        if (s.parser_error == error.HeaderTooShort) {
            hdr.kind.words = 0xe4;
        } else if (s.parser_error == error.PacketTooShort) {
            hdr.kind.words = 0xe1;
        } else if (hdr.kind.kind == 3) {
            // The other member becomes invalid.
            hdr.either.small.setValid();
            hdr.either.small.value = 0x77;
        } else if (hdr.kind.kind == 4) {
            hdr.either.large.setInvalid();
        } else if (hdr.either.isValid()) {
            hdr.kind.words = 1;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.kind);
        packet.emit(hdr.either);
        packet.emit(hdr.options);
    }
}

V1Switch(TestParser(), BlankVerify(), TestIngress(), BlankEgress(), BlankCompute(), TestDeparser()) main;
