#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<headers_t>(4) r; // E0708:28
    apply { }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
