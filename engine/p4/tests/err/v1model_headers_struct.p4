// The headers must be a struct.
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; }
struct meta_t { }
parser P(packet_in p, out h_t hdr, inout meta_t meta, inout standard_metadata_t std) { // E0703:23
    state start { transition accept; }
}
control V(inout h_t hdr, inout meta_t meta) { apply { } }
control I(inout h_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
control C(inout h_t hdr, inout meta_t meta) { apply { } }
control D(packet_out p, in h_t hdr) { apply { } }
V1Switch(P(), V(), I(), I(), C(), D()) main;
