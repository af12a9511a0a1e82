// A packet state of more than 64 KiB: a stack that no frame fills, in front of the metadata.
#include <core.p4>
#include <v1model.p4>

header hop_t {
    bit<160> data;
}

header report_t {
    bit<16> ingress_port;
    bit<16> egress_port;
    bit<32> enq_qdepth;
    bit<32> deq_timedelta;
}

struct headers_t {
    report_t report;
    hop_t[4096] hops;
}

struct metadata_t { }

parser TallParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.report);
        transition accept;
    }
}

control TallVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TallIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.report.ingress_port = (bit<16>)standard_metadata.ingress_port;
        standard_metadata.egress_spec = 1;
    }
}

control TallEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.report.egress_port = (bit<16>)standard_metadata.egress_port;
        hdr.report.enq_qdepth = (bit<32>)standard_metadata.enq_qdepth;
        hdr.report.deq_timedelta = standard_metadata.deq_timedelta;
        // Behind the last byte that 16 bits can address.
        hdr.hops[4095].setValid();
        hdr.hops[4095].data = 160w7;
    }
}

control TallCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TallDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.report);
        packet.emit(hdr.hops);
    }
}

V1Switch(TallParser(), TallVerify(), TallIngress(), TallEgress(), TallCompute(), TallDeparser()) main;
