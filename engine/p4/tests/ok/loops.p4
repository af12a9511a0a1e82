// Loops and compound assignments.
#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action walk() {
        for (bit<8> i = 0, bit<8> j = 9; i < j; i += 1, j -= 2) {
            if (i == 2) {
                continue;
            }
            meta.y |= i << 1;
        }
        for (; true; ) {
            meta.x |+|= 3;
            if (meta.x > 100) {
                break;
            }
        }
    }
    apply { walk(); }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
