#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action set(bit<8> v) { meta.y = v; }
    table t {
        key = { hdr.h.a: ternary; }
        actions = { set; }
        priority_delta = 10;
        entries = {
            priority = 5: 8w1: set(1);
            8w2: set(1); // E0617:13
        }
    }
    apply { t.apply(); }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
