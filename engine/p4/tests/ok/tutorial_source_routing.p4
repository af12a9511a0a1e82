// The sender writes the ports of the path into the packet; each switch takes the first.
#include "include/net.p4"

#define MAX_HOPS 9
const bit<16> TYPE_SOURCE_ROUTE = 0x1234;

header hop_t {
    bit<1>  bottom;
    bit<15> port;
}
struct headers_t {
    ethernet_t      ethernet;
    hop_t[MAX_HOPS] hops;
    ipv4_t          ipv4;
}
struct metadata_t { }

parser RouteParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_SOURCE_ROUTE: parse_hops;
            default: accept;
        }
    }
    state parse_hops {
        packet.extract(hdr.hops.next);
        transition select(hdr.hops.last.bottom) {
            1: parse_ipv4;
            default: parse_hops;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control Nothing(inout headers_t hdr, inout metadata_t meta) { apply { } }

control RouteIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    action drop() { mark_to_drop(std_meta); }
    action take_hop() {
        std_meta.egress_spec = (port_t) hdr.hops[0].port;
        hdr.hops.pop_front(1);
    }
    action finish() { hdr.ethernet.ether_type = TYPE_IPV4; }
    apply {
        if (hdr.hops[0].isValid()) {
            if (hdr.hops[0].bottom == 1) {
                finish();
            }
            take_hop();
            if (hdr.ipv4.isValid()) {
                hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            }
        } else {
            drop();
        }
    }
}

control RouteEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) { apply { } }

control RouteDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.hops);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(RouteParser(), Nothing(), RouteIngress(), RouteEgress(), Nothing(), RouteDeparser()) main;
