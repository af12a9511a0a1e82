// SPDX-License-Identifier: MIT OR Apache-2.0
// Headers that the schemes' switches read, on every target.
#ifndef MARKLAB_HEADERS_P4
#define MARKLAB_HEADERS_P4

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;

// ECN field of IPv4 (RFC 3168 section 5).
enum bit<2> ecn_t {
    NOT_ECT = 0,
    ECT1 = 1,
    ECT0 = 2,
    CE = 3
}

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<6> dscp;
    ecn_t ecn;
    bit<16> total_len;
    bit<16> identification;
    bit<3> flags;
    bit<13> frag_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> hdr_checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

// The first four bytes of TCP and UDP: all that ECMP needs.
header ports_t {
    bit<16> src_port;
    bit<16> dst_port;
}

#endif // MARKLAB_HEADERS_P4
