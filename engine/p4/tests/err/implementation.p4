// A default action that BMv2 ignores.
#include <core.p4>
#include <v1model.p4>
header h_t {
    bit<8> a;
}
struct headers_t {
    h_t h;
}
struct metadata_t {}
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.h);
        transition accept;
    }
}
control V(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action_profile(16) members;
    action drop() {
        mark_to_drop(standard_metadata);
    }
    table dropping { // W0701:11
        key = { hdr.h.a: exact; }
        actions = { drop; }
        default_action = drop();
        implementation = members;
    }
    table passing {
        key = { hdr.h.a: exact; }
        actions = { drop; NoAction; }
        default_action = NoAction();
        implementation = action_selector(HashAlgorithm.crc16, 16, 8);
    }
    apply {
        dropping.apply();
        passing.apply();
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}
control C(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}
control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.h);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
