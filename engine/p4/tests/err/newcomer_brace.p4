// A missing brace is one message, at the last point where it could stand.
#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.h.isValid()) {
            meta.y = 1;
    }
}
control Other(inout headers_t hdr, inout meta_t meta) { apply { } } // E0205:1
control More(inout headers_t hdr, inout meta_t meta) { apply { } }
V1Switch(P(), V(), Case(), E(), Other(), D()) main;
