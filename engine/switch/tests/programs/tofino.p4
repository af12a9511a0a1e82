/* Does what a packet asks for, and tells it what Tofino's architecture says of it. */

#include <core.p4>
#include <tna.p4>

header request_t {
    bit<16> port;           // 0xffff: none is set
    bit<8> queue;
    bit<8> class;
    bit<8> ingress_drop;    // drop_ctl
    bit<8> egress_drop;     // drop_ctl
    bit<8> bypass;
    bit<8> refuse;          // 0: goes on
}

header report_t {
    bit<16> ingress_port;
    bit<48> mac_tstamp;
    bit<48> ingress_tstamp;
    bit<16> egress_port;
    bit<48> egress_tstamp;
    bit<32> enq_tstamp;
    bit<32> deq_timedelta;
    bit<32> enq_qdepth;
    bit<32> deq_qdepth;
    bit<8> egress_qid;
    bit<8> egress_cos;
    bit<16> pkt_length;
}

/* From ingress to egress. */
header bridge_t {
    bit<16> ingress_port;
    bit<48> mac_tstamp;
    bit<48> ingress_tstamp;
}

struct headers_t {
    bridge_t bridge;
    request_t request;
    report_t report;
}

struct metadata_t { }

parser IngressParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.request);
        transition select(hdr.request.refuse) {
            0: accept;
        }
    }
}

control Ingress(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Counter<bit<32>, bit<1>>(2, CounterType_t.PACKETS_AND_BYTES) seen;

    apply {
        seen.count(0);
        if (hdr.request.port != 0xffff) {
            ig_tm_md.ucast_egress_port = hdr.request.port[8:0];
        }
        ig_tm_md.qid = (QueueId_t) hdr.request.queue;
        ig_tm_md.ingress_cos = hdr.request.class[2:0];
        ig_tm_md.bypass_egress = hdr.request.bypass[0:0];
        ig_dprsr_md.drop_ctl = hdr.request.ingress_drop[2:0];
        hdr.bridge.setValid();
        hdr.bridge = {7w0 ++ ig_intr_md.ingress_port, ig_intr_md.ingress_mac_tstamp, ig_prsr_md.global_tstamp};
    }
}

control IngressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md) {
    apply { pkt.emit(hdr); }
}

parser EgressParser(packet_in pkt, out headers_t hdr, out metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        pkt.extract(eg_intr_md);
        pkt.extract(hdr.bridge);
        pkt.extract(hdr.request);
        pkt.extract(hdr.report);
        transition accept;
    }
}

control Egress(inout headers_t hdr, inout metadata_t md, in egress_intrinsic_metadata_t eg_intr_md,
               in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
               inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
               inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    Counter<bit<32>, bit<1>>(2, CounterType_t.PACKETS_AND_BYTES) seen;

    apply {
        seen.count(0);
        hdr.report.ingress_port = hdr.bridge.ingress_port;
        hdr.report.mac_tstamp = hdr.bridge.mac_tstamp;
        hdr.report.ingress_tstamp = hdr.bridge.ingress_tstamp;
        hdr.report.egress_port = 7w0 ++ eg_intr_md.egress_port;
        hdr.report.egress_tstamp = eg_prsr_md.global_tstamp;
        hdr.report.enq_tstamp = (bit<32>) eg_intr_md.enq_tstamp;
        hdr.report.deq_timedelta = (bit<32>) eg_intr_md.deq_timedelta;
        hdr.report.enq_qdepth = 13w0 ++ eg_intr_md.enq_qdepth;
        hdr.report.deq_qdepth = 13w0 ++ eg_intr_md.deq_qdepth;
        hdr.report.egress_qid = (bit<8>) eg_intr_md.egress_qid;
        hdr.report.egress_cos = 5w0 ++ eg_intr_md.egress_cos;
        hdr.report.pkt_length = eg_intr_md.pkt_length;
        eg_dprsr_md.drop_ctl = hdr.request.egress_drop[2:0];
        hdr.bridge.setInvalid();
    }
}

control EgressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md) {
    apply { pkt.emit(hdr); }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
