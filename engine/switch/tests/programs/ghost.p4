/* Keeps what the ghost of Tofino 2 is told of queues; a packet asks for what is kept of a queue. */

#include <core.p4>
#include <t2na.p4>

header request_t {
    bit<16> queue;
    bit<32> cells;
    bit<32> reports;
}

struct headers_t { request_t request; }
struct metadata_t { }

parser IngressParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.request);
        transition accept;
    }
}

Register<bit<32>, bit<11>>(2048) depths;
Register<bit<32>, bit<11>>(2048) reports;

control Ingress(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    RegisterAction<bit<32>, bit<11>, bit<32>>(depths) read_depth = {
        void apply(inout bit<32> value, out bit<32> rv) { rv = value; }
    };
    RegisterAction<bit<32>, bit<11>, bit<32>>(reports) read_reports = {
        void apply(inout bit<32> value, out bit<32> rv) { rv = value; }
    };

    apply {
        ig_tm_md.ucast_egress_port = 1;
        ig_tm_md.qid = 2;
        hdr.request.cells = read_depth.execute(hdr.request.queue[10:0]);
        hdr.request.reports = read_reports.execute(hdr.request.queue[10:0]);
    }
}

control IngressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md) {
    apply { pkt.emit(hdr); }
}

parser EgressParser(packet_in pkt, out headers_t hdr, out metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        pkt.extract(eg_intr_md);
        transition accept;
    }
}

control Egress(inout headers_t hdr, inout metadata_t md, in egress_intrinsic_metadata_t eg_intr_md,
               in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
               inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
               inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    apply { }
}

control EgressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md) {
    apply { pkt.emit(hdr); }
}

control Ghost(in ghost_intrinsic_metadata_t gh_intr_md) {
    RegisterAction<bit<32>, bit<11>, bit<32>>(depths) keep = {
        void apply(inout bit<32> value) { value = 14w0 ++ gh_intr_md.qlength; }
    };
    RegisterAction<bit<32>, bit<11>, bit<32>>(reports) count = {
        void apply(inout bit<32> value) { value = value + 1; }
    };

    apply {
        keep.execute(gh_intr_md.qid);
        count.execute(gh_intr_md.qid);
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser(), Ghost()) pipe;
Switch(pipe) main;
