#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<8>>(0) r; // E0709:25
    apply { }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
