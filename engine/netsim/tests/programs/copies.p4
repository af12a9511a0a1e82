// A router that copies or recirculates packets, in the mode that a table sets.
#include <core.p4>
#include <v1model.p4>
#include "include/headers.p4"

enum bit<8> mode_t {
    STRAIGHT = 0,
    CLONE_INGRESS = 1,     // to session 1
    CLONE_EGRESS = 2,      // to session 1; not the clones
    MULTICAST = 3,         // to group 1
    RECIRCULATE = 4,       // once
    RECIRCULATE_EVER = 5,
    FAIL = 6               // the assertion, when a packet is longer than 1000 bytes
}

struct metadata_t {
    @field_list(1)
    bit<8> rounds;
    mode_t mode;
}

parser CopiesParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control CopiesVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control CopiesIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action forward(bit<9> port, bit<48> dst_addr) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.dst_addr = dst_addr;
    }

    table ipv4_lpm {
        key = {
            hdr.ipv4.dst_addr: lpm @name("dst_addr");
        }
        actions = {
            forward;
            NoAction;
        }
        default_action = NoAction();
    }

    action set(mode_t mode) {
        meta.mode = mode;
    }

    table modes {
        actions = {
            set;
        }
        default_action = set(mode_t.STRAIGHT);
    }

    apply {
        ipv4_lpm.apply();
        modes.apply();
        if (meta.mode == mode_t.CLONE_INGRESS) {
            clone(CloneType.I2E, 1);
        } else if (meta.mode == mode_t.MULTICAST) {
            standard_metadata.mcast_grp = 1;
        }
        assert(meta.mode != mode_t.FAIL || standard_metadata.packet_length <= 1000);
    }
}

control CopiesEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        bool again = meta.rounds == 0 || meta.mode == mode_t.RECIRCULATE_EVER;
        if (meta.mode == mode_t.CLONE_EGRESS) {
            clone(CloneType.E2E, 1);
        } else if ((meta.mode == mode_t.RECIRCULATE || meta.mode == mode_t.RECIRCULATE_EVER) && again) {
            meta.rounds = 1;
            recirculate_preserving_field_list(1);
        }
    }
}

control CopiesCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control CopiesDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(CopiesParser(), CopiesVerify(), CopiesIngress(), CopiesEgress(), CopiesCompute(), CopiesDeparser()) main;
