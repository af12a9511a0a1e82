// Names must be declared before they are used.
#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action first() { late.apply(); } // E0302:22
    table late {
        key = { hdr.h.a: exact; }
        actions = { first; second; } // E0305:28
        default_action = second(); // E0305:26
    }
    action second() { }
    apply {
        late.apply();
        Sub.apply(); // E0302:9
    }
}
control Sub() { apply { } }
V1Switch(P(), V(), Case(), E(), C(), D()) main;
