// A table after the `apply` block.
#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        late.apply();
    }
    table late { // E0205:5
        key = { hdr.h.a: exact; }
        actions = { NoAction; }
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
