// Externs that v1model does not have: nothing is wrong with the program, but it cannot be run.
#include "include/frame.p4"

extern void log_event(in bit<8> x);
extern bit<8> draw<T>(in T from);
extern Sketch<T> {
    Sketch(bit<32> rows);
    T estimate(in bit<8> x);
}
control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Sketch<bit<8>>(4) sketch;
    apply {
        log_event(meta.y); // W0703
        meta.y = draw(hdr.h.a); // W0703
        meta.y = sketch.estimate(hdr.h.a); // W0703
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
