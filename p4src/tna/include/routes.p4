// SPDX-License-Identifier: MIT OR Apache-2.0
// IPv4 routes with ECMP. Switches include this file after their headers_t.
#ifndef MARKLAB_TNA_ROUTES_P4
#define MARKLAB_TNA_ROUTES_P4

control Routes(inout headers_t hdr,
               inout ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr,
               inout ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm) {
    Hash<bit<16>>(HashAlgorithm_t.CRC32) ecmp_hash;
    bit<16> ecmp_group;
    bit<16> ecmp_bucket;
    bit<16> ecmp_mask;
    bit<16> hash;

    action drop() {
        ig_intr_md_for_dprsr.drop_ctl = 1;
    }

    action forward(bit<9> port, bit<48> dst_addr) {
        ig_intr_md_for_tm.ucast_egress_port = port;
        hdr.ethernet.src_addr = hdr.ethernet.dst_addr;
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    // Chooses one of 2^n buckets by the flow's 5-tuple, which the table `ecmp` maps to paths: the chip cannot divide.
    action hash_to_group(bit<16> group, bit<16> mask) {
        ecmp_group = group;
        ecmp_mask = mask;
    }

    table ipv4_lpm {
        key = {
            hdr.ipv4.dst_addr: lpm @name("dst_addr");
        }
        actions = {
            forward;
            hash_to_group;
            drop;
        }
        const default_action = drop();
        size = 4096;
    }

    action hash_flow() {
        hash = ecmp_hash.get({ hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, hdr.ports.src_port,
                               hdr.ports.dst_port });
    }

    action choose_bucket() {
        ecmp_bucket = hash & ecmp_mask;
    }

    table ecmp {
        key = {
            ecmp_group: exact @name("group");
            ecmp_bucket: exact @name("member");
        }
        actions = {
            forward;
            drop;
        }
        const default_action = drop();
        size = 4096;
    }

    apply {
        hash_flow();
        switch (ipv4_lpm.apply().action_run) {
            hash_to_group: {
                choose_bucket();
                ecmp.apply();
            }
        }
    }
}

#endif // MARKLAB_TNA_ROUTES_P4
