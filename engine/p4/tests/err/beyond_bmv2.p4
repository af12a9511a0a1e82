// Programs that run here, but that p4c-bm2-ss refuses or compiles to something else.
#include "include/frame.p4"

header item_t { bit<8> v; }
struct items_t { item_t[2] items; }
struct none_t { }
bit<8> sum(in bit<8> n) {
    bit<8> total = 0;
    for (bit<8> i = 0; i < n; i += 1) { // W0704:5
        total += i;
    }
    return total;
}
parser Stack(packet_in p, out items_t hdr, inout none_t meta, inout standard_metadata_t std) {
    state start {
        p.extract(hdr.items.next);
        hdr.items.next.setValid(); // W0702:9
        transition select(hdr.items.next.v) { // W0702:27
            _: accept;
        }
    }
}
control Verify(inout items_t hdr, inout none_t meta) { apply { } }
control Ingress_(inout items_t hdr, inout none_t meta, inout standard_metadata_t std) {
    action act() {
        for (bit<8> i = 0; i < 4; i += 1) {
            hdr.items[0].v += i;
        }
        for (bit<8> i in 1 .. 4) { // W0702:9
            hdr.items[0].v += i;
        }
        hdr.items[0].v = sum(4);
    }
    apply {
        hash(hdr.items[0].v, HashAlgorithm.crc16, 8w0, hdr.items[1].v, 8w255); // W0702:9
        for (bit<8> i = 0; i < 4; i += 1) { // W0704:9
            hdr.items[0].v += i;
        }
        act();
        hdr.items[0].v = sum(hdr.items[0].v);
    }
}
control Egress_(inout items_t hdr, inout none_t meta, inout standard_metadata_t std) { apply { } }
control Compute(inout items_t hdr, inout none_t meta) {
    Checksum16() checksum;
    apply {
        hdr.items[0].v = (bit<8>) checksum.get({ hdr.items[1].v }); // W0702:9 W0702:35
    }
}
control Deparser_(packet_out p, in items_t hdr) {
    apply {
        if (hdr.items[0].isValid()) { // W0702:9
            p.emit(hdr.items);
        }
    }
}
V1Switch(Stack(), Verify(), Ingress_(), Egress_(), Compute(), Deparser_()) main;
