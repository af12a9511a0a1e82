#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(true, { hdr.h.a }, hdr.h.c + 1, HashAlgorithm.csum16); // E0706:9
    }
}
V1Switch(P(), Case(), I(), E(), C(), D()) main;
