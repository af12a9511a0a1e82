// Ethernet and IPv4 for the programs that are written as the usual exercises are.
#ifndef NET_P4
#define NET_P4
#include <core.p4>
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;

typedef bit<48> mac_t;
typedef bit<32> ip4_t;
typedef bit<9>  port_t;

header ethernet_t {
    mac_t   dst_addr;
    mac_t   src_addr;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> frag_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> hdr_checksum;
    ip4_t   src_addr;
    ip4_t   dst_addr;
}

// The header without its checksum, which is what the checksum is over.
#define IPV4_FIELDS(h)                                                                \
    { h.version, h.ihl, h.dscp, h.ecn, h.total_len, h.identification, h.flags,        \
      h.frag_offset, h.ttl, h.protocol, h.src_addr, h.dst_addr }
#endif // NET_P4
