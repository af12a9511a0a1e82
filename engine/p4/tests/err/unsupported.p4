#include "include/frame.p4"

extern void unknown(in bit<8> x);
control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        unknown(meta.y); // U0001:9
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
