// verify_checksum and update_checksum, with and without payload, with conditions, and for a missing header.
#include <core.p4>
#include <v1model.p4>

header sum_t {
    bit<8>  options;
    bit<8>  report;
    bit<16> word;
    bit<16> plain;
    bit<16> payload;
}

header tail_t {
    bit<16> word;
    bit<16> plain;
}

struct headers_t {
    sum_t  sum;
    tail_t tail;
}

struct metadata_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    state start {
        packet.extract(hdr.sum);
        transition accept;
    }
}

control TestVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.sum.options[0:0] == 1, { hdr.sum.word }, hdr.sum.plain, HashAlgorithm.csum16);
        verify_checksum_with_payload(hdr.sum.options[1:1] == 1, { hdr.sum.word }, hdr.sum.payload, HashAlgorithm.csum16);
        verify_checksum(true, { hdr.sum.word }, hdr.tail.plain, HashAlgorithm.csum16);
    }
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (hdr.sum.isValid()) {
            hdr.sum.report = 7w0 ++ s.checksum_error;
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    apply {}
}

control TestCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.sum.options[2:2] == 1, { hdr.sum.word }, hdr.sum.plain, HashAlgorithm.csum16);
        update_checksum_with_payload(
            hdr.sum.options[3:3] == 1, { hdr.sum.word }, hdr.sum.payload, HashAlgorithm.csum16);
        update_checksum(true, { hdr.sum.word }, hdr.tail.plain, HashAlgorithm.csum16);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.sum);
        packet.emit(hdr.tail);
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestCompute(), TestDeparser()) main;
