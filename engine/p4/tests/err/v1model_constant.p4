#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<8>>((bit<32>)(1 << 3)) r;
    counter(16, CounterType.packets) c;
    apply {
        bit<8> v;
        r.read(v, 0);
        c.count((bit<32>)(v / 8w3)); // E0720:26
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
