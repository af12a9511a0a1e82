#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action act() {
        switch (meta.y) { // E0536:9
            1: { meta.x = 1; }
        }
    }
    apply {
        act();
    }
}

V1Switch(P(), V(), Case(), E(), C(), D()) main;
