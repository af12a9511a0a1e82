// Flows are spread over the next hops of a group by a hash of their 5-tuple.
#include "include/net.p4"

const bit<8> PROTO_TCP = 6;

header tcp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<32> seq_no;
    bit<32> ack_no;
    bit<4>  data_offset;
    bit<4>  res;
    bit<8>  flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent_ptr;
}
struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    tcp_t      tcp;
}
struct metadata_t { bit<14> member; }

parser EcmpParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) {
            PROTO_TCP: parse_tcp;
            default: accept;
        }
    }
    state parse_tcp {
        packet.extract(hdr.tcp);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_FIELDS(hdr.ipv4), hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control EcmpIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    action drop() { mark_to_drop(std_meta); }
    action pick_member(bit<16> first, bit<32> members) {
        hash(meta.member, HashAlgorithm.crc16, first,
             { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, hdr.tcp.src_port, hdr.tcp.dst_port },
             members);
    }
    action next_hop(mac_t mac, ip4_t address, port_t port) {
        hdr.ethernet.dst_addr = mac;
        hdr.ipv4.dst_addr = address;
        std_meta.egress_spec = port;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }
    table groups {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { drop; pick_member; }
        size = 1024;
    }
    table next_hops {
        key = { meta.member: exact; }
        actions = { drop; next_hop; }
        size = 64;
    }
    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 0) {
            if (groups.apply().hit) {
                next_hops.apply();
            }
        }
    }
}

control EcmpEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    action rewrite_source(mac_t mac) { hdr.ethernet.src_addr = mac; }
    action drop() { mark_to_drop(std_meta); }
    table senders {
        key = { std_meta.egress_port: exact; }
        actions = { rewrite_source; drop; }
        size = 256;
    }
    apply { senders.apply(); }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_FIELDS(hdr.ipv4), hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control EcmpDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
    }
}

V1Switch(EcmpParser(), Verify(), EcmpIngress(), EcmpEgress(), Compute(), EcmpDeparser()) main;
