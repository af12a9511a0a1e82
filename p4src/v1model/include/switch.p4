// SPDX-License-Identifier: MIT OR Apache-2.0
// The switch that all schemes share: IPv4 forwarding with ECMP, and one call of the scheme's Marking in egress.
//
//     parser -> checksum -> Ingress: ipv4_lpm -> (ecmp) -> queue -> Egress: Marking -> checksum -> deparser
//
#ifndef MARKLAB_SWITCH_P4
#define MARKLAB_SWITCH_P4

#include "headers.p4"
#include "marking.p4"

struct metadata_t {
    // The queue that the packet waits in. The annotation passes it to our traffic manager: v1model only has a
    // `priority` of 3 bits, and BMv2 only strict priorities.
    @alias("queueing_metadata.qid") bit<7> queue;
    // Hash of the 5-tuple, for schemes that distinguish flows.
    bit<32> flow;
    // Packets that waited in its pool of queues, for schemes that look at more than the packet's own queue.
    bit<32> pool_pkts;
    bit<16> ecmp_group;
    bit<16> ecmp_member;
}

parser SwitchParser(packet_in packet,
                    out headers_t hdr,
                    inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        // Only the first fragment of a packet has ports; other fragments are hashed without them.
        transition select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_TCP): parse_ports;
            (5, 0, PROTOCOL_UDP): parse_ports;
            default: accept;
        }
    }

    state parse_ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

control SwitchVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
              hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control SwitchIngress(inout headers_t hdr,
                      inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
#ifdef MARKLAB_STEERS
    Steering() steering;
#endif // MARKLAB_STEERS
#ifdef MARKLAB_CLASSIFIES
    Classifier() classifier;
#endif // MARKLAB_CLASSIFIES
#ifdef MARKLAB_COUNTS_ARRIVALS
    EnterPool() enter_pool;
#endif // MARKLAB_COUNTS_ARRIVALS

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action forward(bit<9> port, bit<48> dst_addr) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.src_addr = hdr.ethernet.dst_addr;
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    // Chooses one of `members` equal paths by the flow's 5-tuple, so that a flow stays on its path.
    action hash_to_group(bit<16> group, bit<16> members) {
        meta.ecmp_group = group;
        hash(meta.ecmp_member, HashAlgorithm.crc32, 16w0,
            { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, hdr.ports.src_port, hdr.ports.dst_port },
            members);
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

    table ecmp {
        key = {
            meta.ecmp_group: exact @name("group");
            meta.ecmp_member: exact @name("member");
        }
        actions = {
            forward;
            drop;
        }
        const default_action = drop();
        size = 4096;
    }

#if !defined(MARKLAB_STEERS) && !defined(MARKLAB_CLASSIFIES)
    action set_queue(bit<7> queue) {
        meta.queue = queue;
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
#endif // no queues of the scheme's own

    // Options are not parsed, so the checksum of a header with options could not be kept correct.
    apply {
        if (!hdr.ipv4.isValid() || hdr.ipv4.version != 4 || hdr.ipv4.ihl != 5 || hdr.ipv4.ttl <= 1 ||
            standard_metadata.checksum_error == 1) {
            drop();
        } else {
            switch (ipv4_lpm.apply().action_run) {
                hash_to_group: { ecmp.apply(); }
            }
#ifdef MARKLAB_STEERS
            hash(meta.flow, HashAlgorithm.crc32, 32w0,
                { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, hdr.ports.src_port, hdr.ports.dst_port },
                33w0x100000000);
            flow_t flow;
            flow.port = standard_metadata.egress_spec;
            flow.now_us = standard_metadata.ingress_global_timestamp;
            flow.length_bytes = (bit<16>)standard_metadata.packet_length;
            flow.id = meta.flow;
            steering.apply(flow, meta.queue);
#elif defined(MARKLAB_CLASSIFIES)
            classifier.apply(hdr.ipv4.ecn, meta.queue);
#else
            // Code point 0 is used by switches with one queue, which need no lookup.
            if (hdr.ipv4.dscp != 0) {
                service_queue.apply();
            }
#endif // MARKLAB_STEERS
#ifdef MARKLAB_COUNTS_ARRIVALS
            enter_pool.apply(standard_metadata.egress_spec, meta.queue, meta.pool_pkts);
#endif // MARKLAB_COUNTS_ARRIVALS
        }
    }
}

control SwitchEgress(inout headers_t hdr,
                     inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    Marking() marking;
#ifdef MARKLAB_STEERS
    LeaveQueue() leave_queue;
#endif // MARKLAB_STEERS
#ifdef MARKLAB_COUNTS_ARRIVALS
    LeavePool() leave_pool;
#endif // MARKLAB_COUNTS_ARRIVALS
#ifdef MARKLAB_DROPS_NOT_ECT
    NotEct() not_ect;
#endif // MARKLAB_DROPS_NOT_ECT

    // Packets by port and cause: marked, passed because they were not ECN capable, dropped by decision.
    counter(MARKLAB_PORTS * 8, CounterType.packets) marks;
    counter(MARKLAB_PORTS * 8, CounterType.packets) not_capable;
    counter(MARKLAB_PORTS * 8, CounterType.packets) drops;

    apply {
        // v1model shows the queue in egress only. Depths are packets, times microseconds. enq_qdepth is what the
        // packet found when it came: a threshold on it marks the same packet as a chip that marks at enqueue, one
        // sojourn later.
        queue_signals_t q;
        q.port = standard_metadata.egress_port;
        q.queue = meta.queue;
        q.now_us = standard_metadata.egress_global_timestamp;
        q.sojourn_us = standard_metadata.deq_timedelta;
        q.enq_qdepth_pkts = standard_metadata.enq_qdepth;
        q.deq_qdepth_pkts = standard_metadata.deq_qdepth;
        q.pool_pkts = meta.pool_pkts;
        q.length_bytes = (bit<16>)standard_metadata.packet_length;
        q.flow = meta.flow;

        // Before the decision, which may read which queues are busy now.
#ifdef MARKLAB_STEERS
        leave_queue.apply(q);
#endif // MARKLAB_STEERS
#ifdef MARKLAB_COUNTS_ARRIVALS
        leave_pool.apply(q);
#endif // MARKLAB_COUNTS_ARRIVALS

        decision_t decision;
        cause_t cause;
        marking.apply(q, decision, cause);

#ifdef MARKLAB_DROPS_NOT_ECT
        not_ect.apply(decision);
#endif // MARKLAB_DROPS_NOT_ECT
        if (decision == decision_t.MARK_OR_DROP) {
            decision = hdr.ipv4.ecn == ecn_t.NOT_ECT ? decision_t.DROP : decision_t.MARK;
        }
        bit<32> place = (bit<32>)(standard_metadata.egress_port ++ cause);
        if (decision == decision_t.MARK) {
            if (hdr.ipv4.ecn == ecn_t.ECT0 || hdr.ipv4.ecn == ecn_t.ECT1) {
                hdr.ipv4.ecn = ecn_t.CE;
                marks.count(place);
            } else if (hdr.ipv4.ecn == ecn_t.NOT_ECT) {
                not_capable.count(place);
            }
        } else if (decision == decision_t.DROP) {
            mark_to_drop(standard_metadata);
            drops.count(place);
        }
    }
}

control SwitchComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
              hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control SwitchDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
    }
}

V1Switch(SwitchParser(),
         SwitchVerifyChecksum(),
         SwitchIngress(),
         SwitchEgress(),
         SwitchComputeChecksum(),
         SwitchDeparser()) main;

#endif // MARKLAB_SWITCH_P4
