/* The lab's switch with the marking of dctcp-red, for Tofino: K is in cells. */

#include <core.p4>
#include <tna.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<6> dscp;
    bit<2> ecn;
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

/* From ingress to egress. */
header bridge_t {
    bit<48> arrived;
}

struct headers_t {
    bridge_t bridge;
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t {
    bool wrong;
    bit<19> k;
    bit<19> over;
}

parser IngressParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    Checksum() sum;
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.ethernet);
        pkt.extract(hdr.ipv4);
        sum.add(hdr.ipv4);
        md.wrong = sum.verify();
        transition accept;
    }
}

control Ingress(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    action drop() {
        ig_dprsr_md.drop_ctl = 1;
    }

    action forward(PortId_t port, bit<48> dst_addr) {
        ig_tm_md.ucast_egress_port = port;
        hdr.ethernet.src_addr = hdr.ethernet.dst_addr;
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    table ipv4_lpm {
        key = { hdr.ipv4.dst_addr: lpm @name("dst_addr"); }
        actions = { forward; drop; }
        const default_action = drop();
        size = 4096;
    }

    apply {
        if (md.wrong) {
            drop();
        } else {
            ipv4_lpm.apply();
        }
        hdr.bridge.setValid();
        hdr.bridge.arrived = ig_prsr_md.global_tstamp;
    }
}

control IngressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md) {
    apply { pkt.emit(hdr); }
}

parser EgressParser(packet_in pkt, out headers_t hdr, out metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        pkt.extract(eg_intr_md);
        pkt.extract(hdr.bridge);
        pkt.extract(hdr.ethernet);
        pkt.extract(hdr.ipv4);
        transition accept;
    }
}

control Marking(in egress_intrinsic_metadata_t eg_intr_md, inout headers_t hdr, inout metadata_t md) {
    action set_params(bit<19> k_cells) {
        md.k = k_cells;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(3173);
    }

    apply {
        params.apply();
        md.over = eg_intr_md.enq_qdepth |-| md.k;
        if (md.over != 0 && hdr.ipv4.ecn != 0) {
            hdr.ipv4.ecn = 3;
        }
    }
}

control Egress(inout headers_t hdr, inout metadata_t md, in egress_intrinsic_metadata_t eg_intr_md,
               in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
               inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
               inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    Marking() marking;

    apply {
        marking.apply(eg_intr_md, hdr, md);
        hdr.bridge.setInvalid();
    }
}

control EgressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md) {
    Checksum() sum;
    apply {
        hdr.ipv4.hdr_checksum = sum.update({
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
            hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
            hdr.ipv4.src_addr, hdr.ipv4.dst_addr });
        pkt.emit(hdr);
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
