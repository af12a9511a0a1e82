/* Widths at their limits and one beyond: bytes that are parsed in egress, of a digest, bits of a sum. */
#include "before.p4"

header parsed_t {
    bit<1072> data;
}
struct digested_t {
    bit<392> data;
}
header sum_t {
    bit<72> x;
    bit<72> y;
}
struct own_t {
    parsed_t parsed;
    sum_t sum;
}
struct own_meta_t {
    digested_t digested;
}

parser OwnParser(packet_in pkt, out own_t hdr, out own_meta_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start { // E1204
        pkt.extract(eg_intr_md);
        pkt.extract(hdr.parsed);
        transition accept;
    }
}

control Eg(inout own_t hdr, inout own_meta_t md, in egress_intrinsic_metadata_t eg_intr_md,
           in egress_intrinsic_metadata_from_parser_t from_prsr, inout egress_intrinsic_metadata_for_deparser_t for_dprsr,
           inout egress_intrinsic_metadata_for_output_port_t for_oport) {
    apply {
        hdr.sum.x = hdr.sum.x + hdr.sum.y; // E1406
    }
}

control OwnDeparser(packet_out pkt, inout own_t hdr, in own_meta_t md, in egress_intrinsic_metadata_for_deparser_t d) {
    Digest<digested_t>() digest;
    apply {
        if (d.mirror_type == 1) {
            digest.pack(md.digested); // E1210
        }
        pkt.emit(hdr);
    }
}

control Ig(INGRESS) {
    apply {}
}
Pipeline(IgParser(), Ig(), IgDeparser(), OwnParser(), Eg(), OwnDeparser()) pipe;
Switch(pipe) main;
