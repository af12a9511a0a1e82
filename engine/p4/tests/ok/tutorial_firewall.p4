// A stateful firewall: two registers form a Bloom filter of the connections opened from inside.
#include "include/net.p4"

#define FILTER_CELLS 4096
#define FILTER_BITS 1
const bit<8> PROTO_TCP = 6;

header tcp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<32> seq_no;
    bit<32> ack_no;
    bit<4>  data_offset;
    bit<6>  unused;
    bit<1>  urg;
    bit<1>  ack;
    bit<1>  psh;
    bit<1>  rst;
    bit<1>  syn;
    bit<1>  fin;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent_ptr;
}
struct headers_t  { ethernet_t ethernet; ipv4_t ipv4; tcp_t tcp; }
struct metadata_t { }

parser WallParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
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

control Nothing(inout headers_t hdr, inout metadata_t meta) { apply { } }

control WallIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    register<bit<FILTER_BITS>>(FILTER_CELLS) first_filter;
    register<bit<FILTER_BITS>>(FILTER_CELLS) second_filter;
    bit<32> first_cell;
    bit<32> second_cell;
    bit<FILTER_BITS> first_seen;
    bit<FILTER_BITS> second_seen;
    bit<1> direction;

    action drop() { mark_to_drop(std_meta); }
    action find_cells(ip4_t inside, ip4_t outside, bit<16> inside_port, bit<16> outside_port) {
        hash(first_cell, HashAlgorithm.crc16, (bit<32>) 0,
             { inside, outside, inside_port, outside_port, hdr.ipv4.protocol }, (bit<32>) FILTER_CELLS);
        hash(second_cell, HashAlgorithm.crc32, (bit<32>) 0,
             { inside, outside, inside_port, outside_port, hdr.ipv4.protocol }, (bit<32>) FILTER_CELLS);
    }
    action forward(mac_t dst_addr, port_t port) {
        std_meta.egress_spec = port;
        hdr.ethernet.src_addr = hdr.ethernet.dst_addr;
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }
    action set_direction(bit<1> to) { direction = to; }
    table routes {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { forward; drop; NoAction; }
        size = 1024;
        default_action = drop();
    }
    table directions {
        key = {
            std_meta.ingress_port: exact;
            std_meta.egress_spec: exact;
        }
        actions = { set_direction; NoAction; }
        size = 1024;
        default_action = NoAction();
    }
    apply {
        if (!hdr.ipv4.isValid()) {
            exit;
        }
        routes.apply();
        if (!hdr.tcp.isValid()) {
            return;
        }
        direction = 0;
        if (directions.apply().hit) {
            if (direction == 0) {
                find_cells(hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.tcp.src_port, hdr.tcp.dst_port);
                if (hdr.tcp.syn == 1) {
                    first_filter.write(first_cell, 1);
                    second_filter.write(second_cell, 1);
                }
            } else {
                find_cells(hdr.ipv4.dst_addr, hdr.ipv4.src_addr, hdr.tcp.dst_port, hdr.tcp.src_port);
                first_filter.read(first_seen, first_cell);
                second_filter.read(second_seen, second_cell);
                if (first_seen != 1 || second_seen != 1) {
                    drop();
                }
            }
        }
    }
}

control WallEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) { apply { } }

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_FIELDS(hdr.ipv4), hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control WallDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
    }
}

V1Switch(WallParser(), Nothing(), WallIngress(), WallEgress(), Compute(), WallDeparser()) main;
