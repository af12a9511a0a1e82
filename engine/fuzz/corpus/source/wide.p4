#include "include/frame.p4"
header w_t { bit<4> a; varbit<256> v; bit<4> b; }
control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<200>>(4) cells;
    action set(bit<300> x) { meta.x = (bit<16>)(x >> 7) ++ (int<8>)1; }
    table t { key = { hdr.h.c ++ meta.x : ternary; meta.y : range; } actions = { set; } default_action = set(1); }
    apply {
        bit<200> w;
        cells.read(w, 1);
        w = w |+| (bit<200>)meta.x * w;
        cells.write((bit<32>)w, w);
        if (t.apply().hit) { hash(meta.x, HashAlgorithm.crc16, 8w0, { w, hdr.h.a }, 32w9); }
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
