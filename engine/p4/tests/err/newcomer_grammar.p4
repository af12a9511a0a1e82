// Errors from habits of C.
#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (meta.y = 3) { } // E0205:20
        meta.y++; // E0205:15
        if meta.y == 3 { } // E0205:12
        int table = 3; // E0205:13
    }
}
V1Switch(P(), V(), Case, E(), C(), D()) main; // E0212:20
