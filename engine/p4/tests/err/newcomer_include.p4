// Without `#include <v1model.p4>` nothing that follows could be understood: one message is enough.
struct headers_t { }
struct meta_t { }
parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { // E0301:10
    state start { transition accept; }
}
control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<8>>(16) cells;
    apply { mark_to_drop(std); }
}
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), I(), V(), D()) main;
