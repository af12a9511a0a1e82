#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(true, { hdr.h.a + 1, hdr.h.b }, hdr.h.c, HashAlgorithm.csum16); // W0702:33
        meta.x = 1; // W0702:9
    }
}
V1Switch(P(), V(), I(), E(), Case(), D()) main;
