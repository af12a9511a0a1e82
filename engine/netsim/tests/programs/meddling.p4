// A router that rewrites the ECN field, and the ECN flags of SYNs and SYN-ACKs, as tables say.
#include <core.p4>
#include <v1model.p4>
#include "include/headers.p4"

header tcp_t {
    bit<96> before;    // ports and numbers
    bit<8> offset;
    bit<1> cwr;
    bit<1> ece;
    bit<1> urg;
    bit<1> ack;
    bit<1> psh;
    bit<1> rst;
    bit<1> syn;
    bit<1> fin;
    bit<16> window;
    bit<16> checksum;
}

struct meddled_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    tcp_t tcp;
}

struct metadata_t { }

parser MeddlingParser(packet_in packet, out meddled_t hdr, inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) {
            PROTOCOL_TCP: tcp;
            default: accept;
        }
    }

    state tcp {
        packet.extract(hdr.tcp);
        transition accept;
    }
}

control MeddlingVerify(inout meddled_t hdr, inout metadata_t meta) {
    apply { }
}

control MeddlingIngress(inout meddled_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action forward(bit<9> port, bit<48> dst_addr) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.dst_addr = dst_addr;
    }

    table ipv4_lpm {
        key = { hdr.ipv4.dst_addr: lpm @name("dst_addr"); }
        actions = { forward; NoAction; }
        default_action = NoAction();
    }

    action set_ecn(ecn_t ecn) {
        hdr.ipv4.ecn = ecn;
    }

    table fields {
        key = {
            standard_metadata.ingress_port: exact @name("port");
            hdr.ipv4.ecn: exact @name("ecn");
        }
        actions = { set_ecn; NoAction; }
        default_action = NoAction();
    }

    // Updates the checksum (RFC 1624).
    action set_flags(bit<1> cwr, bit<1> ece) {
        bit<32> sum = (bit<32>)(~hdr.tcp.checksum) + (bit<32>)(~(bit<16>)(hdr.tcp.cwr ++ hdr.tcp.ece ++ 6w0))
            + (bit<32>)(cwr ++ ece ++ 6w0);
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        hdr.tcp.checksum = ~(bit<16>)sum;
        hdr.tcp.cwr = cwr;
        hdr.tcp.ece = ece;
    }

    table handshakes {
        key = {
            hdr.tcp.syn: exact @name("syn");
            hdr.tcp.ack: exact @name("ack");
        }
        actions = { set_flags; NoAction; }
        default_action = NoAction();
    }

    apply {
        ipv4_lpm.apply();
        fields.apply();
        if (hdr.tcp.isValid()) {
            handshakes.apply();
        }
    }
}

control MeddlingEgress(inout meddled_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control MeddlingCompute(inout meddled_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(true,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
              hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control MeddlingDeparser(packet_out packet, in meddled_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
    }
}

V1Switch(MeddlingParser(), MeddlingVerify(), MeddlingIngress(), MeddlingEgress(), MeddlingCompute(),
         MeddlingDeparser()) main;
