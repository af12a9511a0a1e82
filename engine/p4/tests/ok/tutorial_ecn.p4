// The ECN exercise: the IPv4 header reports a long queue to ECN-capable senders. Routes are counted.
#include "include/net.p4"

const bit<19> ECN_THRESHOLD = 10;
enum bit<2> ecn_t {
    NOT_ECT = 0,
    ECT_1   = 1,
    ECT_0   = 2,
    CE      = 3
}

struct headers_t  { ethernet_t ethernet; ipv4_t ipv4; }
struct metadata_t { }

parser EcnParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    state start { transition parse_ethernet; }
    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control EcnVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control EcnIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    direct_counter(CounterType.packets_and_bytes) routed;
    counter(512, CounterType.bytes) arrived;

    action drop() {
        routed.count();
        mark_to_drop(std_meta);
    }
    action forward(mac_t dst_addr, port_t port) {
        routed.count();
        std_meta.egress_spec = port;
        hdr.ethernet.src_addr = hdr.ethernet.dst_addr;
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }
    table routes {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { forward; drop; }
        default_action = drop();
        counters = routed;
        size = 1024;
    }
    apply {
        arrived.count((bit<32>) std_meta.ingress_port);
        if (hdr.ipv4.isValid()) {
            routes.apply();
        }
    }
}

control EcnEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    action mark_ce() { hdr.ipv4.ecn = (bit<2>) ecn_t.CE; }
    apply {
        if (hdr.ipv4.ecn == ecn_t.ECT_0 || hdr.ipv4.ecn == ecn_t.ECT_1) {
            if (std_meta.enq_qdepth >= ECN_THRESHOLD) {
                mark_ce();
            }
        }
    }
}

control EcnCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_FIELDS(hdr.ipv4), hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control EcnDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(EcnParser(), EcnVerify(), EcnIngress(), EcnEgress(), EcnCompute(), EcnDeparser()) main;
