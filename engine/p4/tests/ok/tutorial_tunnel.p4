// Packets enter a tunnel at its first switch and leave it at its last; both ends count the packets.
#include "include/net.p4"

#define MAX_TUNNELS (1 << 10)
const bit<16> TYPE_TUNNEL = 0x1212;

header tunnel_t {
    bit<16> inner_type;
    bit<16> id;
}
struct headers_t  { ethernet_t ethernet; tunnel_t tunnel; ipv4_t ipv4; }
struct metadata_t { }

parser TunnelParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_TUNNEL: parse_tunnel;
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }
    state parse_tunnel {
        packet.extract(hdr.tunnel);
        transition select(hdr.tunnel.inner_type) {
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control Nothing(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TunnelIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    counter(MAX_TUNNELS, CounterType.packets_and_bytes) entered;
    counter(MAX_TUNNELS, CounterType.packets_and_bytes) left;

    action drop() { mark_to_drop(std_meta); }
    action enter(bit<16> id) {
        hdr.tunnel.setValid();
        hdr.tunnel.id = id;
        hdr.tunnel.inner_type = hdr.ethernet.ether_type;
        hdr.ethernet.ether_type = TYPE_TUNNEL;
        entered.count((bit<32>) id);
    }
    action pass(port_t port) { std_meta.egress_spec = port; }
    action leave(mac_t dst_addr, port_t port) {
        std_meta.egress_spec = port;
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ethernet.ether_type = hdr.tunnel.inner_type;
        left.count((bit<32>) hdr.tunnel.id);
        hdr.tunnel.setInvalid();
    }
    table entrances {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { enter; drop; NoAction; }
        default_action = NoAction();
        size = 1024;
    }
    table tunnels {
        key = { hdr.tunnel.id: exact; }
        actions = { pass; leave; drop; }
        default_action = drop();
        size = 1024;
    }
    apply {
        if (hdr.ipv4.isValid() && !hdr.tunnel.isValid()) {
            entrances.apply();
        }
        if (hdr.tunnel.isValid()) {
            tunnels.apply();
        }
    }
}

control TunnelEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) { apply { } }

control TunnelDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.tunnel);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(TunnelParser(), Nothing(), TunnelIngress(), TunnelEgress(), Nothing(), TunnelDeparser()) main;
