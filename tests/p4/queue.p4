// The queue as egress sees it: depths in packets, times in microseconds.
#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> enq_qdepth;
    bit<16> deq_qdepth;
    bit<32> deq_timedelta;
    bit<32> enq_timestamp;
    bit<48> egress_global_timestamp;
}

struct headers_t {
    data_t data;
}

struct metadata_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control TestVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    apply {
        hdr.data.enq_qdepth = s.enq_qdepth[15:0];
        hdr.data.deq_qdepth = s.deq_qdepth[15:0];
        hdr.data.deq_timedelta = s.deq_timedelta;
        hdr.data.enq_timestamp = s.enq_timestamp;
        hdr.data.egress_global_timestamp = s.egress_global_timestamp;
    }
}

control TestCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.data);
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestCompute(), TestDeparser()) main;
