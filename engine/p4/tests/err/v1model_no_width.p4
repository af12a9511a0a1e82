#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hash(meta.x, HashAlgorithm.crc16, 16w0, { hdr.h.a, 5 }, 16w5); // E0707:9
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
