// Typical typing errors in statements.
#include "include/frame.p4"

enum bit<2> ecn_t { NOT_ECT = 0, CE = 3 }
control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action mark() {
        std.egress_spec = hdr.h.a; // E0401:27
        hdr.h.bb = 1; // E0310:15
        meta.y = CE; // E0302:18
    }
    apply {
        if (hdr.h.isValid) { // E0310:19
            mark();
        }
        if (meta.y) { // E0405:13
            mark();
        }
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
