// Errors that only the target finds: one does not hide the others.
#include "include/frame.p4"

parser Ranges(packet_in b, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        transition select(meta.y) {
            meta.y .. 3: accept; // E0409:13
            3 .. meta.y: accept; // E0409:18
            default: other;
        }
    }
    state other {
        transition accept;
    }
}

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action set(bit<8> v) { meta.y = v; }
    table t {
        key = { hdr.h.a: lpm; }
        actions = { set; }
        const entries = {
            8w1 &&& 8w3: set(1); // E0613:13
            8w1 &&& 8w5: set(1); // E0613:13
        }
    }
    apply {
        t.apply();
        recirculate_preserving_field_list(1); // E0710:9
        if (meta.y == 1) {
            recirculate_preserving_field_list(2); // E0710:13
        }
    }
}

control Later(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        resubmit_preserving_field_list(1); // E0710:9
    }
}
V1Switch(Ranges(), V(), Case(), Later(), C(), D()) main;
