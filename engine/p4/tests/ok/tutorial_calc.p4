// A calculator: the parser looks ahead for the protocol's mark, a table with constant entries chooses the operation.
#include "include/net.p4"

const bit<16> TYPE_CALC = 0x1234;

header calc_t {
    bit<8>  letter_p;
    bit<8>  digit_4;
    bit<8>  version;
    bit<8>  operation;
    bit<32> left;
    bit<32> right;
    bit<32> result;
}
struct headers_t  { ethernet_t ethernet; calc_t calc; }
struct metadata_t { }

parser CalcParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_CALC: look_at_mark;
            default: accept;
        }
    }
    state look_at_mark {
        transition select(packet.lookahead<calc_t>().letter_p,
                          packet.lookahead<calc_t>().digit_4,
                          packet.lookahead<calc_t>().version) {
            (0x50, 0x34, 0x01): parse_calc;
            default: accept;
        }
    }
    state parse_calc {
        packet.extract(hdr.calc);
        transition accept;
    }
}

control Nothing(inout headers_t hdr, inout metadata_t meta) { apply { } }

control CalcIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    action send_back(bit<32> result) {
        mac_t requester = hdr.ethernet.src_addr;
        hdr.calc.result = result;
        hdr.ethernet.src_addr = hdr.ethernet.dst_addr;
        hdr.ethernet.dst_addr = requester;
        std_meta.egress_spec = std_meta.ingress_port;
    }
    action add() { send_back(hdr.calc.left + hdr.calc.right); }
    action subtract() { send_back(hdr.calc.left - hdr.calc.right); }
    action bit_and() { send_back(hdr.calc.left & hdr.calc.right); }
    action bit_or() { send_back(hdr.calc.left | hdr.calc.right); }
    action bit_xor() { send_back(hdr.calc.left ^ hdr.calc.right); }
    action refuse() { mark_to_drop(std_meta); }

    table calculate {
        key = { hdr.calc.operation: exact; }
        actions = { add; subtract; bit_and; bit_or; bit_xor; refuse; }
        const default_action = refuse();
        const entries = {
            0x2b: add();
            0x2d: subtract();
            0x26: bit_and();
            0x7c: bit_or();
            0x5e: bit_xor();
        }
    }
    apply {
        if (hdr.calc.isValid()) {
            calculate.apply();
        } else {
            refuse();
        }
    }
}

control CalcEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) { apply { } }

control CalcDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.calc);
    }
}

V1Switch(CalcParser(), Nothing(), CalcIngress(), CalcEgress(), Nothing(), CalcDeparser()) main;
