// `next` of a header stack outside of `extract`: it is read, assigned to and made valid; only `extract` advances it.
#include <core.p4>
#include <v1model.p4>

header op_t {
    bit<8> op;
    bit<8> error_code;
}

header item_t {
    bit<8> value;
}

struct headers_t {
    op_t      op;
    item_t[2] items;
}

struct metadata_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    state start {
        packet.extract(hdr.op);
        transition select(hdr.op.op) {
            0: assigned;
            1: extracted_by_index;
            2: extracted;
            3: full;
            4: valid;
            5: compared;
        }
    }

    state assigned {
        hdr.items.next = { 0x11 };
        hdr.items.next.value = hdr.items.next.value + 1;
        transition accept;
    }

    // An index does not advance `next`.
    state extracted_by_index {
        packet.extract(hdr.items[0]);
        hdr.items.next = { 0x22 };
        transition accept;
    }

    state extracted {
        packet.extract(hdr.items.next);
        hdr.items.next = { 0x33 };
        transition accept;
    }

    // There is no third element.
    state full {
        packet.extract(hdr.items.next);
        packet.extract(hdr.items.next);
        hdr.items.next = { 0x44 };
        transition accept;
    }

    state valid {
        hdr.items[0].setValid();
        hdr.items[0].value = 7;
        transition compared;
    }

    // A loop that ends in StackOutOfBounds, if no element ends it.
    state compared {
        transition select(hdr.items.next.value) {
            7: taken;
            _: accept;
        }
    }

    state taken {
        packet.extract(hdr.items.next);
        hdr.items[1] = { 7 };
        transition compared;
    }
}

#include "../include/blank.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (s.parser_error == error.StackOutOfBounds) {
            hdr.op.error_code = 3;
        } else if (s.parser_error != error.NoError) {
            hdr.op.error_code = 0xff;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), BlankVerify(), TestIngress(), BlankEgress(), BlankCompute(), TestDeparser()) main;
