// The externs of v1model.
#include "include/frame.p4"

struct report_t { bit<8> a; bit<16> c; }
struct kept_t {
    @field_list(1, 2) bit<16> x;
    @field_list(2) bit<8> y;
    bit<8> color;
    bit<32> number;
}

parser Parse(packet_in p, out headers_t hdr, inout kept_t meta, inout standard_metadata_t std) {
    state start {
        log_msg("parsing");
        p.extract(hdr.h);
        transition accept;
    }
}
control Verify(inout headers_t hdr, inout kept_t meta) {
    apply {
        verify_checksum_with_payload(true, { hdr.h.a, hdr.h.b }, hdr.h.c, HashAlgorithm.csum16);
    }
}
control Case(inout headers_t hdr, inout kept_t meta, inout standard_metadata_t std) {
    counter(16, CounterType.packets) packets;
    meter(32w16, MeterType.bytes) rates;
    register<bit<16>>(16) words;
    apply {
        packets.count(1);
        rates.execute_meter((bit<32>)hdr.h.a, meta.color);
        words.read(meta.x, 3);
        words.write(3, meta.x + 1);
        random(meta.number, 0, 99);
        hash(meta.y, HashAlgorithm.identity, 8w1, { hdr.h.a, hdr.h.c }, 16w10);
        digest<report_t>(5, { hdr.h.a, hdr.h.c });
        clone(CloneType.I2E, 100);
        clone_preserving_field_list(CloneType.I2E, 100, 2);
        resubmit_preserving_field_list(1);
        truncate(64);
        assert(hdr.h.a != 77);
        assume(true);
        log_msg("a = {}, c = {}", { hdr.h.a, hdr.h.c });
        if (meta.y == 3) {
            std.mcast_grp = 1;
        }
    }
}
control Leave(inout headers_t hdr, inout kept_t meta, inout standard_metadata_t std) {
    apply {
        if (std.instance_type != 0) {
            recirculate_preserving_field_list(2);
        } else {
            clone_preserving_field_list(CloneType.E2E, 7, 1);
        }
    }
}
control Update(inout headers_t hdr, inout kept_t meta) {
    apply {
        update_checksum(hdr.h.isValid(), { hdr.h.a, hdr.h.b }, hdr.h.c, HashAlgorithm.csum16);
    }
}
V1Switch(Parse(), Verify(), Case(), Leave(), Update(), D()) main;
