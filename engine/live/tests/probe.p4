// A switch that sends each packet where it asks, and writes into it when egress saw it.
#include <core.p4>
#include <v1model.p4>

header probe_t {
    bit<16> to;
    bit<48> ingress_us;
    bit<48> egress_us;
    bit<32> enq_qdepth;
    bit<32> deq_timedelta;
}

struct headers_t {
    probe_t probe;
}

struct metadata_t {}

parser ProbeParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.probe);
        transition accept;
    }
}

control ProbeVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control ProbeIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = (bit<9>)hdr.probe.to;
        hdr.probe.ingress_us = standard.ingress_global_timestamp;
    }
}

control ProbeEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        hdr.probe.egress_us = standard.egress_global_timestamp;
        hdr.probe.enq_qdepth = (bit<32>)standard.enq_qdepth;
        hdr.probe.deq_timedelta = standard.deq_timedelta;
    }
}

control ProbeCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control ProbeDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.probe);
    }
}

V1Switch(ProbeParser(), ProbeVerify(), ProbeIngress(), ProbeEgress(), ProbeCompute(), ProbeDeparser()) main;
