// A switch that reads its metadata through fields of its own, of other widths than those of v1model.
#include <core.p4>
#include <v1model.p4>

header report_t {
    bit<8> enq_qdepth;
    bit<8> deq_qdepth;
    bit<8> enq_timestamp;
    bit<8> deq_timedelta;
    bit<64> ingress_time;
    bit<64> egress_time;
}

struct headers_t {
    report_t report;
}

struct metadata_t {
    @alias("queueing_metadata.enq_qdepth") bit<2> enq_qdepth;
    @alias("queueing_metadata.deq_qdepth") bit<2> deq_qdepth;
    @alias("queueing_metadata.enq_timestamp") bit<8> enq_timestamp;
    @alias("queueing_metadata.deq_timedelta") bit<8> deq_timedelta;
    @alias("intrinsic_metadata.ingress_global_timestamp") bit<64> ingress_time;
    @alias("intrinsic_metadata.egress_global_timestamp") bit<64> egress_time;
}

parser AliasesParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.report);
        transition accept;
    }
}

control AliasesVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control AliasesIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.report.ingress_time = meta.ingress_time;
        standard_metadata.egress_spec = 0;
    }
}

control AliasesEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.report.enq_qdepth = (bit<8>)meta.enq_qdepth;
        hdr.report.deq_qdepth = (bit<8>)meta.deq_qdepth;
        hdr.report.enq_timestamp = meta.enq_timestamp;
        hdr.report.deq_timedelta = meta.deq_timedelta;
        hdr.report.egress_time = meta.egress_time;
    }
}

control AliasesCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control AliasesDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.report);
    }
}

V1Switch(AliasesParser(), AliasesVerify(), AliasesIngress(), AliasesEgress(), AliasesCompute(), AliasesDeparser()) main;
