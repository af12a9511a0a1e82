// The headers are a struct of headers, stacks and unions.
#include <core.p4>
#include <v1model.p4>
header e_t { bit<8> a; }
struct h_t { e_t e; bit<8> loose; } // E0704:28
struct meta_t { }
parser P(packet_in p, out h_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { transition accept; }
}
control V(inout h_t hdr, inout meta_t meta) { apply { } }
control I(inout h_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
control C(inout h_t hdr, inout meta_t meta) { apply { } }
control D(packet_out p, in h_t hdr) { apply { } }
V1Switch(P(), V(), I(), I(), C(), D()) main;
