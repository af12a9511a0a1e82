// The switch that all schemes share on Tofino: IPv4 forwarding with ECMP, and one call of the scheme's Marking in egress. It
// does what v1model/include/switch.p4 does; entries differ where a comment says so.
//
//     parser -> Ingress: ipv4_lpm -> (ecmp) -> queue -> deparser, traffic manager, parser -> Egress: Marking -> deparser
//
#ifndef MARKLAB_TNA_SWITCH_P4
#define MARKLAB_TNA_SWITCH_P4

#include "../../include/headers.p4"
#include "marking.p4"

#ifdef MARKLAB_NOTES
// The mirror session that notes take, which leads to a port of recirculation.
const bit<3> MIRROR_NOTE = 1;
const MirrorId_t NOTE_SESSION = 1;

// What comes before a packet in egress.
const bit<8> KIND_PACKET = 0;
const bit<8> KIND_NOTE = 1;
#endif // MARKLAB_NOTES

// What egress needs of ingress: it goes before the packet through the traffic manager.
header bridged_t {
#ifdef MARKLAB_NOTES
    bit<8> kind;
#endif // MARKLAB_NOTES
    bit<32> arrival_ns;        // when the packet came to its queue
    bit<1> _pad;
    bit<7> queue;
#ifdef MARKLAB_STEERS
    bit<32> flow;
#endif // MARKLAB_STEERS
}

struct headers_t {
#ifdef MARKLAB_NOTES
    noted_t noted;
#endif // MARKLAB_NOTES
    bridged_t bridged;
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
}

struct ingress_metadata_t {
    bit<16> ecmp_group;
    bit<16> ecmp_bucket;
    bit<16> ecmp_mask;
    bit<16> ecmp_hash;
    bit<1> checksum_error;
    bit<1> routed;
}

struct egress_metadata_t {
    queue_signals_t q;
#ifdef MARKLAB_NOTES
    note_t note;
    MirrorId_t note_session;
    bit<8> note_kind;
    bit<8> note_queue;
    bit<16> note_port;
#endif // MARKLAB_NOTES
    decision_t decision;
    cause_t cause;
    bit<12> place;
}

parser IngressParser(packet_in packet,
                     out headers_t hdr,
                     out ingress_metadata_t meta,
                     out ingress_intrinsic_metadata_t ig_intr_md) {
    Checksum() ipv4_checksum;

    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        meta = { 0, 0, 0, 0, 0, 0 };
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        ipv4_checksum.add(hdr.ipv4);
        meta.checksum_error = (bit<1>)ipv4_checksum.verify();
        // Ports are there in the first fragment of a packet only; others are hashed without them.
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

control Ingress(inout headers_t hdr,
                inout ingress_metadata_t meta,
                in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr,
                inout ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr,
                inout ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm) {
    Hash<bit<16>>(HashAlgorithm_t.CRC32) ecmp_hash;
#ifdef MARKLAB_STEERS
    Hash<bit<32>>(HashAlgorithm_t.CRC32) flow_hash;
    Steering() steering;
    bit<7> own_queue = 0;
    bit<32> now_ns = 0;
#endif // MARKLAB_STEERS

    action drop() {
        ig_intr_md_for_dprsr.drop_ctl = 1;
    }

    action forward(bit<9> port, bit<48> dst_addr) {
        ig_intr_md_for_tm.ucast_egress_port = port;
        hdr.ethernet.src_addr = hdr.ethernet.dst_addr;
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    // Chooses one of 2^n buckets by the flow's 5-tuple, which the table `ecmp` deals out to the paths: no target divides.
    action hash_to_group(bit<16> group, bit<16> mask) {
        meta.ecmp_group = group;
        meta.ecmp_mask = mask;
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
        meta.ecmp_hash = ecmp_hash.get({ hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, hdr.ports.src_port,
                                         hdr.ports.dst_port });
    }

    action choose_bucket() {
        meta.ecmp_bucket = meta.ecmp_hash & meta.ecmp_mask;
    }

    table ecmp {
        key = {
            meta.ecmp_group: exact @name("group");
            meta.ecmp_bucket: exact @name("member");
        }
        actions = {
            forward;
            drop;
        }
        const default_action = drop();
        size = 4096;
    }

#ifdef MARKLAB_STEERS
    action look() {
        now_ns = ig_intr_md_from_prsr.global_tstamp[31:0];
        hdr.bridged.flow = flow_hash.get({ hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, hdr.ports.src_port,
                                           hdr.ports.dst_port });
    }

    action use_own_queue() {
        ig_intr_md_for_tm.qid = (QueueId_t)own_queue;
        hdr.bridged.queue = own_queue;
    }
#else
    action set_queue(bit<7> queue) {
        ig_intr_md_for_tm.qid = (QueueId_t)queue;
        hdr.bridged.queue = queue;
    }

    // The queue of a service, which its packets name by their code point.
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
#endif // MARKLAB_STEERS

    action carry() {
        hdr.bridged.setValid();
#ifdef MARKLAB_NOTES
        hdr.bridged.kind = KIND_PACKET;
#endif // MARKLAB_NOTES
        hdr.bridged.arrival_ns = ig_intr_md_from_prsr.global_tstamp[31:0];
        hdr.bridged._pad = 0;
        hdr.bridged.queue = 0;
    }

    // Options are not parsed, so that the checksum of a header with options could not be kept right.
    apply {
        carry();
        if (!hdr.ipv4.isValid() || hdr.ipv4.version != 4 || hdr.ipv4.ihl != 5 || meta.checksum_error == 1) {
            drop();
        } else if (hdr.ipv4.ttl == 0 || hdr.ipv4.ttl == 1) {
            drop();
        } else {
            hash_flow();
            switch (ipv4_lpm.apply().action_run) {
                hash_to_group: {
                    choose_bucket();
                    ecmp.apply();
                }
            }
#ifdef MARKLAB_STEERS
            look();
            steering.apply(ig_intr_md_for_tm.ucast_egress_port, now_ns, hdr.bridged.flow, own_queue);
            use_own_queue();
#else
            service_queue.apply();
#endif // MARKLAB_STEERS
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

parser EgressParser(packet_in packet,
                    out headers_t hdr,
                    out egress_metadata_t meta,
                    out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
#ifdef MARKLAB_NOTES
        transition select(packet.lookahead<bit<8>>()) {
            KIND_NOTE: parse_note;
            default: parse_packet;
        }
    }

    state parse_note {
        packet.extract(hdr.noted);
        transition accept;
    }

    state parse_packet {
#endif // MARKLAB_NOTES
        packet.extract(hdr.bridged);
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control Egress(inout headers_t hdr,
               inout egress_metadata_t meta,
               in egress_intrinsic_metadata_t eg_intr_md,
               in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
               inout egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr,
               inout egress_intrinsic_metadata_for_output_port_t eg_intr_md_for_oport) {
    Marking() marking;

    // Packets by port and cause: marked, passed because they were not ECN capable, dropped by decision.
    Counter<bit<64>, bit<12>>(MARKLAB_PORTS * 8, CounterType_t.PACKETS) marks;
    Counter<bit<64>, bit<12>>(MARKLAB_PORTS * 8, CounterType_t.PACKETS) not_capable;
    Counter<bit<64>, bit<12>>(MARKLAB_PORTS * 8, CounterType_t.PACKETS) drops;

    // TNA shows the queue in egress only. enq_qdepth is what the packet found when it came: a threshold on it marks the same
    // packet as a chip that marks at enqueue, one sojourn later.
    action look() {
        meta.q.port = eg_intr_md.egress_port;
        meta.q.queue = hdr.bridged.queue;
        meta.q.cell = hdr.bridged.queue[4:0] ++ eg_intr_md.egress_port;
        meta.q.enq_qdepth_cells = (bit<32>)eg_intr_md.enq_qdepth;
        meta.q.deq_qdepth_cells = (bit<32>)eg_intr_md.deq_qdepth;
        meta.q.length_bytes = eg_intr_md.pkt_length - (bit<16>)hdr.bridged.minSizeInBytes();
#ifdef MARKLAB_STEERS
        meta.q.flow = hdr.bridged.flow;
#endif // MARKLAB_STEERS
        meta.q.now_ns = eg_intr_md_from_prsr.global_tstamp[31:0];
        meta.q.arrival_ns = hdr.bridged.arrival_ns;
    }

    // deq_timedelta has 18 bits, which wrap at 262 us.
    action measure() {
        meta.q.sojourn_ns = meta.q.now_ns - hdr.bridged.arrival_ns;
    }

    action locate() {
        meta.place = eg_intr_md.egress_port ++ meta.cause;
    }

    action mark() {
        hdr.ipv4.ecn = ecn_t.CE;
    }

    action drop() {
        eg_intr_md_for_dprsr.drop_ctl = 1;
    }

    table verdict {
        key = {
            meta.decision: exact @name("decision");
            hdr.ipv4.ecn: ternary @name("ecn");
        }
        actions = {
            mark;
            drop;
            NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (decision_t.MARK, ecn_t.ECT0): mark();
            (decision_t.MARK, ecn_t.ECT1): mark();
            (decision_t.DROP, _): drop();
        }
        size = 4;
    }

#ifdef MARKLAB_NOTES
    // A note has done all that it is for when egress is over.
    action receive_note() {
        meta.q.now_ns = hdr.noted.ns;
        meta.q.port = hdr.noted.port[8:0];
        meta.q.queue = hdr.noted.queue[6:0];
        meta.q.cell = hdr.noted.queue[4:0] ++ hdr.noted.port[8:0];
        eg_intr_md_for_dprsr.drop_ctl = 1;
    }

    action send_note() {
        eg_intr_md_for_dprsr.mirror_type = MIRROR_NOTE;
        meta.note_session = NOTE_SESSION;
        meta.note_kind = KIND_NOTE;
        meta.note_queue = (bit<8>)meta.q.queue;
        meta.note_port = (bit<16>)meta.q.port;
    }
#endif // MARKLAB_NOTES

    apply {
#ifdef MARKLAB_NOTES
        if (hdr.noted.isValid()) {
            receive_note();
        } else {
            look();
            measure();
        }
        marking.apply(meta.q, hdr.noted, meta.note, meta.decision, meta.cause);
        if (meta.note.written == 1) {
            send_note();
        }
#else
        look();
        measure();
        marking.apply(meta.q, meta.decision, meta.cause);
#endif // MARKLAB_NOTES
        locate();
        // A counter for each is a table for each: what a table counts with has one address.
        if (meta.decision == decision_t.MARK) {
            if (hdr.ipv4.ecn == ecn_t.ECT0 || hdr.ipv4.ecn == ecn_t.ECT1) {
                marks.count(meta.place);
            } else if (hdr.ipv4.ecn == ecn_t.NOT_ECT) {
                not_capable.count(meta.place);
            }
        } else if (meta.decision == decision_t.DROP) {
            drops.count(meta.place);
        }
        verdict.apply();
        hdr.bridged.setInvalid();
#ifdef MARKLAB_NOTES
        hdr.noted.setInvalid();
#endif // MARKLAB_NOTES
    }
}

control EgressDeparser(packet_out packet,
                       inout headers_t hdr,
                       in egress_metadata_t meta,
                       in egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr) {
    Checksum() ipv4_checksum;
#ifdef MARKLAB_NOTES
    Mirror() mirror;
#endif // MARKLAB_NOTES

    apply {
#ifdef MARKLAB_NOTES
        if (eg_intr_md_for_dprsr.mirror_type == MIRROR_NOTE) {
            mirror.emit<noted_t>(meta.note_session,
                                 { meta.note_kind, meta.note.what, meta.note.step, meta.note_queue, meta.note_port,
                                   meta.note.ns, meta.note.value });
        }
#endif // MARKLAB_NOTES
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.hdr_checksum = ipv4_checksum.update({
                hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
                hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
                hdr.ipv4.src_addr, hdr.ipv4.dst_addr });
        }
        packet.emit(hdr);
    }
}

#ifdef MARKLAB_STEERS
Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser(), Ghost()) pipe;
#else
Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
#endif // MARKLAB_STEERS

Switch(pipe) main;

#endif // MARKLAB_TNA_SWITCH_P4
