// A small router that marks ECN by the depth of the queue: a typical program.
#include <core.p4>
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x800;
const bit<8> PROTO_TCP = 6;
const bit<19> THRESHOLD = 65;

typedef bit<48> mac_t;
typedef bit<9> port_t;

header ethernet_t {
    mac_t dst;
    mac_t src;
    bit<16> type;
}
header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> len;
    bit<16> id;
    bit<3> flags;
    bit<13> offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}
header tcp_t {
    bit<16> src;
    bit<16> dst;
    bit<32> seq;
    bit<32> ack;
    bit<4> offset;
    bit<12> flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}
struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    tcp_t tcp;
}
struct meta_t {
    bit<32> flow;
    bit<48> last;
}

parser RouterParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            TYPE_IPV4: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        verify(hdr.ipv4.version == 4, error.ParserInvalidArgument);
        transition select(hdr.ipv4.protocol, hdr.ipv4.offset) {
            (PROTO_TCP, 0): tcp;
            default: accept;
        }
    }
    state tcp {
        packet.extract(hdr.tcp);
        transition accept;
    }
}

control VerifyIpv4(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(),
                        { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.len, hdr.ipv4.id,
                          hdr.ipv4.flags, hdr.ipv4.offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
                        hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control Route(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<48>>(1024) last_seen;

    action drop() {
        mark_to_drop(std);
    }
    action forward(mac_t dst, port_t port) {
        std.egress_spec = port;
        hdr.ethernet.src = hdr.ethernet.dst;
        hdr.ethernet.dst = dst;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { forward; drop; }
        default_action = drop;
        size = 4096;
    }
    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1) {
            hash(meta.flow, HashAlgorithm.crc32, 32w0,
                 { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, hdr.tcp.src, hdr.tcp.dst }, 32w1024);
            last_seen.read(meta.last, meta.flow);
            last_seen.write(meta.flow, std.ingress_global_timestamp);
            routes.apply();
        } else {
            drop();
        }
    }
}

control Mark(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ecn != 0 && std.enq_qdepth >= THRESHOLD) {
            hdr.ipv4.ecn = 3;
        }
    }
}

control UpdateIpv4(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
                        { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.len, hdr.ipv4.id,
                          hdr.ipv4.flags, hdr.ipv4.offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
                        hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control RouterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
    }
}

V1Switch(RouterParser(), VerifyIpv4(), Route(), Mark(), UpdateIpv4(), RouterDeparser()) main;
