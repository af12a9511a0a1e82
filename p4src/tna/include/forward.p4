// SPDX-License-Identifier: MIT OR Apache-2.0
// Ingress of switches whose queues belong to services: routes, and the queue that a packet's code point selects.
// plain.p4 and mirrored.p4 include this file after their headers_t.
#ifndef MARKLAB_TNA_FORWARD_P4
#define MARKLAB_TNA_FORWARD_P4

#include "parsers.p4"
#include "routes.p4"

struct ingress_metadata_t {
    bit<1> checksum_error;
}

parser IngressParser(packet_in packet,
                     out headers_t hdr,
                     out ingress_metadata_t meta,
                     out ingress_intrinsic_metadata_t ig_intr_md) {
    PacketParser() packet_parser;

    state start {
        packet.extract(ig_intr_md);
        meta.checksum_error = 0;
        packet.advance(PORT_METADATA_SIZE);
        packet_parser.apply(packet, hdr, meta.checksum_error);
        transition accept;
    }
}

control Ingress(inout headers_t hdr,
                inout ingress_metadata_t meta,
                in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr,
                inout ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr,
                inout ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm) {
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

    action carry() {
        hdr.bridged.setValid();
        hdr.bridged.kind = KIND_PACKET;
        hdr.bridged.arrival_ns = ig_intr_md_from_prsr.global_tstamp[31:0];
        hdr.bridged._pad = 0;
        hdr.bridged.queue = 0;
    }

    // Options are not parsed, so the checksum of a header with options could not be kept correct.
    apply {
        carry();
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

control IngressDeparser(packet_out packet,
                        inout headers_t hdr,
                        in ingress_metadata_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr) {
    apply {
        packet.emit(hdr);
    }
}

#endif // MARKLAB_TNA_FORWARD_P4
