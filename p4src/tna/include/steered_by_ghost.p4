// SPDX-License-Identifier: MIT OR Apache-2.0
// steered.p4 on Tofino 2, whose traffic manager reports each change of a queue's length to the ghost thread.
//
//     parser -> Ingress: ipv4_lpm -> (ecmp) -> Steering -> deparser, traffic manager
//     parser -> Egress: Marking -> deparser
//     Ghost: the bit of a queue
//
#ifndef MARKLAB_TNA_STEERED_BY_GHOST_P4
#define MARKLAB_TNA_STEERED_BY_GHOST_P4

#include "../../include/headers.p4"
#include "bridged.p4"
#include "flow_queues.p4"
#include "verdict.p4"

struct headers_t {
    bridged_flow_t bridged;
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
}

#include "carry.p4"
#include "flow_id.p4"
#include "ingress_ends.p4"
#include "routes.p4"
#include "egress.p4"

control Ghost(in ghost_intrinsic_metadata_t gh_intr_md) {
    QueueBits() queue_bits;
    bit<1> is_empty = 0;
    bit<32> other_bits = 0;

    apply {
        if (gh_intr_md.qlength == 0) {
            is_empty = 1;
        }
        queue_bits.apply(3w0 ++ gh_intr_md.qid[10:5], 2w0 ++ gh_intr_md.qid[4:0], is_empty, other_bits);
    }
}

control Ingress(inout headers_t hdr,
                inout ingress_metadata_t meta,
                in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr,
                inout ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr,
                inout ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm) {
    Carry() carry;
    Routes() routes;
    HashFlow() hash_flow;
    Steering() steering;
    bit<7> own_queue = 0;
    bit<32> mapped = 0;
    bit<32> now_ns = 0;

    action drop() {
        ig_intr_md_for_dprsr.drop_ctl = 1;
    }

    action use_own_queue() {
        ig_intr_md_for_tm.qid = (QueueId_t)own_queue;
        hdr.bridged.queue = own_queue;
    }

    // Options are not parsed, so the checksum of a header with options could not be kept correct.
    apply {
        carry.apply(ig_intr_md_from_prsr, hdr);
        if (!hdr.ipv4.isValid() || hdr.ipv4.version != 4 || hdr.ipv4.ihl != 5 || meta.checksum_error == 1) {
            drop();
        } else if (hdr.ipv4.ttl == 0 || hdr.ipv4.ttl == 1) {
            drop();
        } else {
            routes.apply(hdr, ig_intr_md_for_dprsr, ig_intr_md_for_tm);
            hash_flow.apply(ig_intr_md_from_prsr, hdr, now_ns);
            steering.apply(ig_intr_md_for_tm.ucast_egress_port, now_ns, hdr.bridged.flow, mapped, own_queue);
            use_own_queue();
        }
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser(), Ghost()) pipe;

Switch(pipe) main;

#endif // MARKLAB_TNA_STEERED_BY_GHOST_P4
