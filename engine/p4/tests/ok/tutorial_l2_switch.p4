// A learning switch: unknown sources go to the control plane as digests, unknown destinations to all ports.
#include "include/net.p4"

const bit<16> FLOOD_GROUP = 1;

struct learned_t {
    mac_t  address;
    port_t port;
}
struct headers_t  { ethernet_t ethernet; }
struct metadata_t { bool known; }

parser SwitchParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control NoCheck(inout headers_t hdr, inout metadata_t meta) { apply { } }

control SwitchIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    action mark_known() { meta.known = true; }
    action unknown_source() {
        meta.known = false;
        digest(1, (learned_t) { hdr.ethernet.src_addr, std_meta.ingress_port });
    }
    table sources {
        key = {
            hdr.ethernet.src_addr: exact;
            std_meta.ingress_port: exact;
        }
        actions = { mark_known; unknown_source; }
        const default_action = unknown_source();
        size = 4096;
        support_timeout = true;
    }

    action to_port(port_t port) { std_meta.egress_spec = port; }
    action flood() { std_meta.mcast_grp = FLOOD_GROUP; }
    table destinations {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { to_port; flood; }
        default_action = flood();
        size = 4096;
    }

    apply {
        sources.apply();
        destinations.apply();
    }
}

control SwitchEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    apply {
        // A flooded packet does not return to its ingress port.
        if (std_meta.egress_port == std_meta.ingress_port) {
            mark_to_drop(std_meta);
        }
    }
}

control SwitchDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr); }
}

V1Switch(SwitchParser(), NoCheck(), SwitchIngress(), SwitchEgress(), NoCheck(), SwitchDeparser()) main;
