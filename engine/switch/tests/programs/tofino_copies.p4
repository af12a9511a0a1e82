/* Copies, resubmits and recirculates as a packet asks for it. */

#include <core.p4>
#include <tna.p4>

const bit<8> BRIDGED = 0;
const bit<8> MIRRORED_IN_INGRESS = 1;
const bit<8> MIRRORED_IN_EGRESS = 2;
const PortId_t AGAIN = 68;

header request_t {
    bit<16> port;           // 0xffff: none is set
    bit<16> group_a;
    bit<16> group_b;
    bit<8> ingress_session; // 0: no copy
    bit<8> egress_session;
    bit<8> ingress_drop;    // drop_ctl
    bit<8> egress_drop;     // the same; 0x80: of copies
    bit<8> resubmits;       // times
    bit<8> recirculates;    // times
}

header report_t {
    bit<8> kind;            // as above
    bit<8> note;            // in the header of the copy
    bit<8> ingress_runs;
    bit<8> egress_runs;
    bit<8> resubmitted;     // as the resubmission says
    bit<16> rid;
    bit<16> ingress_port;
    bit<16> pkt_length;
}

/* In front of each packet at egress. */
header copy_t {
    bit<8> kind;
    bit<8> note;
}

header again_t {
    bit<8> times;
    bit<56> rest;
}

struct headers_t {
    copy_t copy;
    request_t request;
    report_t report;
}

struct metadata_t {
    bit<8> times;
    again_t again;
    copy_t copy;
    MirrorId_t session;
}

parser IngressParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        md.times = 0;
        pkt.extract(ig_intr_md);
        transition select(ig_intr_md.resubmit_flag) {
            1: resubmitted;
            default: port_metadata;
        }
    }

    state resubmitted {
        pkt.extract(md.again);
        md.times = md.again.times;
        pkt.advance(PORT_METADATA_SIZE - 64);
        transition packet;
    }

    state port_metadata {
        pkt.advance(PORT_METADATA_SIZE);
        transition packet;
    }

    state packet {
        pkt.extract(hdr.request);
        pkt.extract(hdr.report);
        transition accept;
    }
}

control Ingress(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    apply {
        hdr.report.ingress_runs = hdr.report.ingress_runs + 1;
        hdr.report.resubmitted = md.times;
        hdr.report.ingress_port = 7w0 ++ ig_intr_md.ingress_port;
        hdr.copy.setValid();
        hdr.copy = {BRIDGED, 0};
        ig_dprsr_md.drop_ctl = hdr.request.ingress_drop[2:0];
        if (hdr.request.resubmits > md.times) {
            ig_dprsr_md.resubmit_type = 1;
            md.again.setValid();
            md.again.times = md.times + 1;
        }
        if (hdr.request.ingress_session != 0) {
            ig_dprsr_md.mirror_type = 1;
            md.session = (MirrorId_t) hdr.request.ingress_session;
            md.copy.setValid();
            md.copy = {MIRRORED_IN_INGRESS, 0xaa};
        }
        if (hdr.request.port != 0xffff) {
            ig_tm_md.ucast_egress_port = hdr.request.port[8:0];
        }
        if (hdr.request.recirculates > 0) {
            hdr.request.recirculates = hdr.request.recirculates - 1;
            ig_tm_md.ucast_egress_port = AGAIN;
        }
        ig_tm_md.mcast_grp_a = hdr.request.group_a;
        ig_tm_md.mcast_grp_b = hdr.request.group_b;
    }
}

control IngressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                        in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    Mirror(1) mirror;
    Resubmit(1) resubmit;

    apply {
        if (ig_dprsr_md.mirror_type == 1) {
            mirror.emit<copy_t>(md.session, md.copy);
        }
        if (ig_dprsr_md.resubmit_type == 1) {
            resubmit.emit<again_t>(md.again);
        }
        pkt.emit(hdr);
    }
}

parser EgressParser(packet_in pkt, out headers_t hdr, out metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        pkt.extract(eg_intr_md);
        pkt.extract(hdr.copy);
        pkt.extract(hdr.request);
        pkt.extract(hdr.report);
        transition accept;
    }
}

control Egress(inout headers_t hdr, inout metadata_t md, in egress_intrinsic_metadata_t eg_intr_md,
               in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
               inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
               inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    apply {
        hdr.report.egress_runs = hdr.report.egress_runs + 1;
        hdr.report.rid = eg_intr_md.egress_rid;
        hdr.report.pkt_length = eg_intr_md.pkt_length;
        hdr.report.kind = hdr.copy.kind;
        hdr.report.note = hdr.copy.note;
        if (hdr.copy.kind == BRIDGED) {
            eg_dprsr_md.drop_ctl = hdr.request.egress_drop[2:0];
            if (hdr.request.egress_session != 0) {
                eg_dprsr_md.mirror_type = 2;
                md.session = (MirrorId_t) hdr.request.egress_session;
                md.copy.setValid();
                md.copy = {MIRRORED_IN_EGRESS, 0xbb};
            }
        } else if (hdr.request.egress_drop[7:7] == 1) {
            eg_dprsr_md.drop_ctl = 1;
        }
        hdr.copy.setInvalid();
    }
}

control EgressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                       in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    Mirror(2) mirror;

    apply {
        if (eg_dprsr_md.mirror_type == 2) {
            mirror.emit<copy_t>(md.session, md.copy);
        }
        pkt.emit(hdr);
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
