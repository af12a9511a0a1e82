// Forwards two ports to each other. May lower the time to live without the checksum, or send by another port.
#include <core.p4>
#include <v1model.p4>
#include "include/headers.p4"

struct metadata_t { }

parser BrokenParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control BrokenVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control BrokenIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action set_params(bit<1> lower_ttl, bit<9> other_port) {
        hdr.ipv4.ttl = hdr.ipv4.ttl - (bit<8>)lower_ttl;
        standard_metadata.egress_spec = standard_metadata.ingress_port == 0 ? other_port : 0;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(0, 1);
    }

    // The tests fill in a table of this name for every program.
    action forward(bit<9> port, bit<48> dst_addr) { }

    table ipv4_lpm {
        key = { hdr.ipv4.dst_addr: lpm @name("dst_addr"); }
        actions = { forward; NoAction; }
        default_action = NoAction();
    }

    apply {
        ipv4_lpm.apply();
        params.apply();
    }
}

control BrokenEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control BrokenCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control BrokenDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(BrokenParser(), BrokenVerify(), BrokenIngress(), BrokenEgress(), BrokenCompute(), BrokenDeparser()) main;
