// A meter in each control; both colours are written into the packet.
#include <core.p4>
#include <v1model.p4>

header colours_t {
    bit<8> ingress;
    bit<8> egress;
}

struct headers_t {
    colours_t colours;
}

struct metadata_t {}

parser MeterParser(packet_in packet,
                   out headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.colours);
        transition accept;
    }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control MeterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    meter(1, MeterType.packets) arrivals;

    apply {
        arrivals.execute_meter(0, hdr.colours.ingress);
        standard_metadata.egress_spec = 0;
    }
}

control MeterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    meter(1, MeterType.packets) departures;

    apply {
        departures.execute_meter(0, hdr.colours.egress);
    }
}

control MeterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.colours);
    }
}

V1Switch(MeterParser(), NoChecksum(), MeterIngress(), MeterEgress(), NoChecksum(), MeterDeparser()) main;
