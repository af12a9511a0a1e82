// SPDX-License-Identifier: MIT OR Apache-2.0
// Ingress of switches whose queues belong to services: routes, and the queue that a packet's code point selects.
// plain.p4 and mirrored.p4 include this file after their headers_t.
#ifndef MARKLAB_TNA_FORWARD_P4
#define MARKLAB_TNA_FORWARD_P4

#include "carry.p4"
#include "ingress_ends.p4"
#include "routes.p4"

control Ingress(inout headers_t hdr,
                inout ingress_metadata_t meta,
                in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr,
                inout ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr,
                inout ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm) {
    Carry() carry;
    Routes() routes;

    action drop() {
        ig_intr_md_for_dprsr.drop_ctl = 1;
    }

    action set_queue(bit<7> queue) {
        ig_intr_md_for_tm.qid = (QueueId_t)queue;
        hdr.bridged.queue = queue;
    }

    // The queue of a service, selected by the code point of its packets.
    table service_queue {
        key = {
            hdr.ipv4.dscp: exact @name("dscp");
        }
        actions = {
            set_queue;
        }
        const default_action = set_queue(0);
        size = 64;
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
            service_queue.apply();
        }
    }
}

#endif // MARKLAB_TNA_FORWARD_P4
