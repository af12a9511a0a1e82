#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        recirculate_preserving_field_list(1); // E0710:9
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
