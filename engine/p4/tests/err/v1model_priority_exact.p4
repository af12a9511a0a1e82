#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action set(bit<8> v) { meta.y = v; }
    table t {
        key = { hdr.h.a: exact; }
        actions = { set; }
        entries = { priority = 1: 8w1: set(1); } // E0614:21
    }
    apply { t.apply(); }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
