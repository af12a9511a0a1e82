#include "include/frame.p4"

control sub(inout bit<16> x)(int by) {
    apply {
        x = x + (bit<16>)(10 / by); // E0705:26
    }
}
control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    sub(0) s;
    apply {
        s.apply(meta.x);
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
