// A switch that puts each packet into the queue that it requests, and writes into it what egress saw.
#include <core.p4>
#include <v1model.p4>

header request_t {
    bit<8> queue;
    bit<8> priority;
    bit<8> seen_queue;
    bit<32> enq_qdepth;
    bit<32> deq_qdepth;
}

struct headers_t {
    request_t request;
}

struct metadata_t {
    @alias("queueing_metadata.qid") bit<7> qid;
}

parser QueuesParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.request);
        transition accept;
    }
}

control QueuesVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control QueuesIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        meta.qid = (bit<7>)hdr.request.queue;
        standard_metadata.priority = (bit<3>)hdr.request.priority;
        standard_metadata.egress_spec = 0;
    }
}

control QueuesEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.request.seen_queue = (bit<8>)meta.qid;
        hdr.request.enq_qdepth = (bit<32>)standard_metadata.enq_qdepth;
        hdr.request.deq_qdepth = (bit<32>)standard_metadata.deq_qdepth;
    }
}

control QueuesCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control QueuesDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.request);
    }
}

V1Switch(QueuesParser(), QueuesVerify(), QueuesIngress(), QueuesEgress(), QueuesCompute(), QueuesDeparser()) main;
