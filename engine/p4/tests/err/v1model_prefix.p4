#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action set(bit<8> v) { meta.y = v; }
    table t {
        key = { hdr.h.a: lpm; }
        actions = { set; }
        const entries = { 8w1 &&& 8w3: set(1); } // E0613:27
    }
    apply { t.apply(); }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
