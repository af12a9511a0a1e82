// Rules of the target are checked together.
#include "include/frame.p4"

header odd_t { bit<3> a; } // E0714:8
control Twice(inout headers_t hdr) {
    @name(".global") table global { // E0619:28
        key = { hdr.h.a: exact; }
        actions = { NoAction; }
    }
    apply { global.apply(); }
}
control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Twice() one;
    Twice() two;
    bit<2> color;
    direct_meter<bit<2>>(MeterType.packets) unread;
    direct_meter<bit<2>>(MeterType.packets) loose; // E0717:45
    @name("same") action first() { meta.y = 1; }
    @name("same") action second() { loose.read(color); } // E0619:26
    table two_lpm { // E0715:11
        key = { hdr.h.a: lpm; hdr.h.b: lpm; }
        actions = { first; second; }
    }
    @name("two_lpm") table same { // E0619:28
        actions = { first; }
    }
    table metered { // E0716:11
        key = { hdr.h.a: exact; }
        actions = { first; }
        meters = unread;
    }
    apply {
        odd_t odd;
        odd.setValid();
        two_lpm.apply();
        metered.apply();
        same.apply();
        one.apply(hdr);
        two.apply(hdr);
        meta.x = meta.x / hdr.h.c; // E0720:18
        meta.x = meta.x << 300; // W0402:18 E0721:18
        meta.x = meta.x << hdr.h.c; // E0722:28
    }
}
control Emit(packet_out p, in headers_t hdr) {
    apply {
        if (hdr.h.isValid()) { // W0702:9
            p.emit(hdr.h);
        }
    }
}
V1Switch(P(), V(), Case(), E(), C(), Emit()) main;
