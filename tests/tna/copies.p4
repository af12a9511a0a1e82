// Packets that are refused, mirrored, resubmitted, recirculated.
#include <core.p4>
#include <tna.p4>

const PortId_t RECIRCULATION = 68;

header data_t {
    bit<8> kind;    // 1: mirrored, 2: resubmitted, 3: recirculated
    bit<8> times;
    bit<8> note;
}

header copy_t {
    bit<8> mark;
}

header again_t {
    bit<8> times;
    bit<56> rest;
}

struct headers_t {
    data_t data;
}

struct metadata_t {
    again_t again;
    copy_t copy;
}

parser IngressParser(packet_in packet, out headers_t hdr, out metadata_t md,
                     out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        packet.extract(ig_intr_md);
        transition select(ig_intr_md.resubmit_flag) {
            1: resubmitted;
            default: fresh;
        }
    }

    state resubmitted {
        packet.extract(md.again);
        transition data;
    }

    state fresh {
        packet.advance(PORT_METADATA_SIZE);
        transition data;
    }

    state data {
        packet.extract(hdr.data);
        transition select(hdr.data.kind) {
            0..3: accept;
        }
    }
}

control Ingress(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    apply {
        ig_tm_md.ucast_egress_port = 1;
        hdr.data.note = hdr.data.note + 1;
        if (hdr.data.kind == 1) {
            ig_dprsr_md.mirror_type = 1;
            md.copy.setValid();
            md.copy.mark = 0x51;
        } else if (hdr.data.kind == 2) {
            hdr.data.note = md.again.times;
            if (md.again.times < hdr.data.times) {
                ig_dprsr_md.resubmit_type = 1;
                md.again.setValid();
                md.again.times = md.again.times + 1;
            }
        } else if (hdr.data.kind == 3 && hdr.data.times > 0) {
            hdr.data.times = hdr.data.times - 1;
            ig_tm_md.ucast_egress_port = RECIRCULATION;
        }
    }
}

control IngressDeparser(packet_out packet, inout headers_t hdr, in metadata_t md,
                        in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    Mirror(1) mirror;
    Resubmit(1) resubmit;

    apply {
        if (ig_dprsr_md.mirror_type == 1) {
            mirror.emit<copy_t>(5, md.copy);
        }
        if (ig_dprsr_md.resubmit_type == 1) {
            resubmit.emit<again_t>(md.again);
        }
        packet.emit(hdr);
    }
}

parser EgressParser(packet_in packet, out headers_t hdr, out metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        transition accept;
    }
}

control Egress(inout headers_t hdr, inout metadata_t md, in egress_intrinsic_metadata_t eg_intr_md,
               in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
               inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
               inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    apply {}
}

control EgressDeparser(packet_out packet, inout headers_t hdr, in metadata_t md) {
    apply {
        packet.emit(hdr);
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
