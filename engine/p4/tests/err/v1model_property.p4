#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    counter(4, CounterType.packets) c;
    table t {
        actions = { NoAction; }
        counters = c; // E0711:20
    }
    apply { t.apply(); }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
