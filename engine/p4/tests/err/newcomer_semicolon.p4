// A missing semicolon is one message, at the end of its line.
#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        meta.x = 1 // E0205:19
        meta.y = 2;
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
