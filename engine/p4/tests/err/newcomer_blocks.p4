// The blocks of the switch: parameters with a wrong direction or number, a name without parentheses.
#include "include/frame.p4"

control Reads(in headers_t hdr, inout meta_t meta) { apply { } }
control Long(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
V1Switch(P(), Reads(), I(), E(), C(), D()) first; // E0506:15
V1Switch(P(), Long(), I(), E(), C(), D()) second; // E0506:15
V1Switch(P(), P(), I(), E(), C(), D()) main; // E0506:15
