// SPDX-License-Identifier: MIT OR Apache-2.0
// A patch panel: ports 0 and 1 are a line, 2 and 3, and so on. What comes by one end leaves by the other as it is.
#include <core.p4>
#include <v1model.p4>

struct headers_t {}
struct metadata_t {}

parser WiresParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        transition accept;
    }
}

control WiresVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control WiresIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = standard_metadata.ingress_port ^ 1;
    }
}

control WiresEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control WiresComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control WiresDeparser(packet_out packet, in headers_t hdr) {
    apply {}
}

V1Switch(WiresParser(), WiresVerifyChecksum(), WiresIngress(), WiresEgress(), WiresComputeChecksum(), WiresDeparser()) main;
