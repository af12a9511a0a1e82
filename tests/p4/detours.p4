// Fates of a packet other than leaving by a port: drop, clone, resubmit, recirculate, multicast, truncate; with the metadata
// that it keeps. Also digest, assert, assume, log_msg and random, which do not change the packet.
#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  op;
    bit<8>  arg;
    bit<8>  kind;
    bit<8>  kept;
    bit<16> length;
}

struct headers_t {
    data_t data;
}

struct metadata_t {
    @field_list(1)
    bit<8> kept;
    bit<8> lost;
}

struct digest_t {
    bit<8> op;
    bit<8> arg;
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control TestVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (!hdr.data.isValid()) {
            exit;
        }
        hdr.data.kept = meta.kept | meta.lost;
        hdr.data.kind = (bit<8>)s.instance_type;
        hdr.data.length = (bit<16>)s.packet_length;
        meta.kept = 0x10;
        meta.lost = 0x01;
        if (s.instance_type != 0) {
            hdr.data.op = 0;
        }
        switch (hdr.data.op) {
            1: { mark_to_drop(s); }
            2: { mark_to_drop(s); s.egress_spec = 2; }
            3: { clone_preserving_field_list(CloneType.I2E, 5, 1); hdr.data.arg = 0xff; }
            4: { clone(CloneType.I2E, (bit<32>)hdr.data.arg); }
            5: { resubmit_preserving_field_list(1); hdr.data.arg = 0xff; }
            6: { s.mcast_grp = (bit<16>)hdr.data.arg; }
            7: { truncate((bit<32>)hdr.data.arg); }
            8: { digest<digest_t>(1, { hdr.data.op, hdr.data.arg }); }
            9: { assert(hdr.data.arg != 0xff); assume(hdr.data.arg != 0xfe); }
            10: { log_msg("op {} arg {}", { hdr.data.op, hdr.data.arg }); }
            11: { random(hdr.data.arg, 7, 7); }
            12: { random(hdr.data.arg, 8, 7); }
            13: { s.egress_spec = 511; }
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    apply {
        if (!hdr.data.isValid()) {
            exit;
        }
        if (s.instance_type == 1 || s.instance_type == 2) {
            hdr.data.kind = 0xc0 | (bit<8>)s.instance_type;
            hdr.data.kept = meta.kept | meta.lost;
        } else if (s.instance_type == 5) {
            hdr.data.kind = 0x50 | (bit<8>)s.egress_rid;
        } else if (hdr.data.op == 0x21) {
            mark_to_drop(s);
        } else if (hdr.data.op == 0x22) {
            clone_preserving_field_list(CloneType.E2E, 5, 1);
            hdr.data.arg = 0xee;
        } else if (hdr.data.op == 0x23) {
            hdr.data.arg = 0xdd;
            recirculate_preserving_field_list(1);
        }
    }
}

control TestCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.data);
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestCompute(), TestDeparser()) main;
