// Stacks, unions, options of variable length, looking ahead, value sets.
#include <core.p4>
#include <v1model.p4>

error { TooManyLabels, BadLength }

header label_t {
    bit<20> label;
    bit<3> class;
    bit<1> bottom;
    bit<8> ttl;
}
header short_t { bit<8> kind; bit<8> value; }
header long_t { bit<8> kind; bit<24> value; }
header_union option_t {
    short_t short;
    long_t long;
}
header options_t {
    bit<8> len;
    varbit<320> data;
}
struct headers_t {
    label_t[4] labels;
    option_t[2] options;
    options_t rest;
}
struct meta_t {
    bit<8> count;
    label_t saved;
}

parser Options(packet_in packet, out option_t[2] options)(bit<8> short_kind) {
    state start {
        transition select(packet.lookahead<bit<8>>()) {
            short_kind: short;
            0x80 &&& 0x80: long;
            0: accept;
            default: reject;
        }
    }
    state short {
        packet.extract(options.next.short);
        transition start;
    }
    state long {
        packet.extract(options.next.long);
        transition start;
    }
}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_set<bit<9>>(4) trusted;
    Options(1) options;

    state start {
        transition select(std.ingress_port) {
            trusted: label;
            1 .. 4: label;
            default: reject;
        }
    }
    state label {
        packet.extract(hdr.labels.next);
        meta.count = meta.count + 1;
        transition select(hdr.labels.last.bottom, hdr.labels.lastIndex) {
            (1, _): options;
            (0, 3): too_many;
            default: label;
        }
    }
    state too_many {
        verify(false, error.TooManyLabels);
        transition accept;
    }
    state options {
        options.apply(packet, hdr.options);
        packet.advance(8);
        bit<8> len = packet.lookahead<bit<8>>();
        verify(len <= 40, error.BadLength);
        packet.extract(hdr.rest, (bit<32>)len << 3);
        transition accept;
    }
}
control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        bit<32> at = (bit<32>)meta.count[1:0];
        meta.saved = hdr.labels[at];
        hdr.labels[at].ttl = 1;
        hdr.labels.push_front(1);
        hdr.labels[0] = { 16, 0, 0, 64 };
        hdr.labels[1].setInvalid();
        if (hdr.labels[0] == meta.saved || hdr.options[0].short.isValid()) {
            hdr.labels.pop_front(2);
        }
        hdr.options[1].long = { 0x81, 7 };
        hdr.options[0] = hdr.options[1];
        if (hdr.options[0].isValid() && std.parser_error == error.BadLength) {
            hdr.rest = (options_t){#};
        }
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
control C(inout headers_t hdr, inout meta_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
