#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        mark_to_drop(); // U0001:9
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
