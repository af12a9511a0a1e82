// SPDX-License-Identifier: MIT OR Apache-2.0
// Parsers of the packet itself, in ingress and in egress, and the checksum that deparsers write. Switches include this
// file after their headers_t.
#ifndef MARKLAB_TNA_PARSERS_P4
#define MARKLAB_TNA_PARSERS_P4

// Ethernet, IPv4 with its checksum, and ports.
parser PacketParser(packet_in packet, inout headers_t hdr, inout bit<1> checksum_error) {
    Checksum() ipv4_checksum;

    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        ipv4_checksum.add(hdr.ipv4);
        checksum_error = (bit<1>)ipv4_checksum.verify();
        // Only the first fragment of a packet has ports; other fragments are hashed without them.
        transition select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_TCP): parse_ports;
            (5, 0, PROTOCOL_UDP): parse_ports;
            default: accept;
        }
    }

    state parse_ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

// Metadata that ingress sends along, and the headers that marking needs.
parser BridgedParser(packet_in packet, inout headers_t hdr) {
    state start {
        packet.extract(hdr.bridged);
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

// The checksum of IPv4, since marks and hops change its header.
control Ipv4Checksum(inout headers_t hdr) {
    Checksum() checksum;

    apply {
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.hdr_checksum = checksum.update({
                hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
                hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
                hdr.ipv4.src_addr, hdr.ipv4.dst_addr });
        }
    }
}

#endif // MARKLAB_TNA_PARSERS_P4
