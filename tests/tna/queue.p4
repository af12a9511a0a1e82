// The queue as egress sees it: depths in cells, times in nanoseconds.
#include <core.p4>
#include <tna.p4>

header data_t {
    bit<8> queue;
    bit<32> enq_qdepth;
    bit<32> deq_qdepth;
    bit<32> enq_tstamp;
    bit<32> deq_timedelta;
    bit<48> global_tstamp;
    bit<8> egress_qid;
    bit<16> pkt_length;
}

struct headers_t {
    data_t data;
}

struct metadata_t {}

parser IngressParser(packet_in packet, out headers_t hdr, out metadata_t md,
                     out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(hdr.data);
        transition accept;
    }
}

control Ingress(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    apply {
        ig_tm_md.ucast_egress_port = 1;
        ig_tm_md.qid = hdr.data.queue[4:0];
    }
}

control IngressDeparser(packet_out packet, inout headers_t hdr, in metadata_t md) {
    apply {
        packet.emit(hdr);
    }
}

parser EgressParser(packet_in packet, out headers_t hdr, out metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        packet.extract(hdr.data);
        transition accept;
    }
}

control Egress(inout headers_t hdr, inout metadata_t md, in egress_intrinsic_metadata_t eg_intr_md,
               in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
               inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
               inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    apply {
        hdr.data.enq_qdepth = 13w0 ++ eg_intr_md.enq_qdepth;
        hdr.data.deq_qdepth = 13w0 ++ eg_intr_md.deq_qdepth;
        hdr.data.enq_tstamp = 14w0 ++ eg_intr_md.enq_tstamp;
        hdr.data.deq_timedelta = 14w0 ++ eg_intr_md.deq_timedelta;
        hdr.data.global_tstamp = eg_prsr_md.global_tstamp;
        hdr.data.egress_qid = 3w0 ++ eg_intr_md.egress_qid;
        hdr.data.pkt_length = eg_intr_md.pkt_length;
    }
}

control EgressDeparser(packet_out packet, inout headers_t hdr, in metadata_t md) {
    apply {
        packet.emit(hdr);
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
