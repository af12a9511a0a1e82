// A switch that does what a packet requests, and writes into the packet the metadata that each control got.
#include <core.p4>
#include <v1model.p4>

header request_t {
    bit<16> egress_spec;     // FORWARD_DEFAULT leaves it alone, MARK_TO_DROP calls that extern
    bit<8> priority;
    bit<8> egress_drop;      // 1 by mark_to_drop, 2 by assignment
    bit<8> change;           // 1: ingress adds the extra header; 2: takes it away
    bit<8> has_extra;
    bit<16> note;            // kept in metadata from ingress to egress, if not 0
}

const bit<16> FORWARD_DEFAULT = 0xffff;
const bit<16> MARK_TO_DROP = 0xfffe;

header extra_t {
    bit<32> value;
}

header report_t {
    bit<16> ingress_port;
    bit<16> egress_port;
    bit<16> egress_spec;     // at the start of egress
    bit<16> note;
    bit<32> instance_type;
    bit<32> ingress_length;
    bit<32> egress_length;
    bit<64> ingress_time;    // as egress sees it
    bit<64> egress_time;
    bit<32> enq_timestamp;
    bit<32> enq_qdepth;
    bit<32> deq_timedelta;
    bit<32> deq_qdepth;
    bit<32> ingress_number;  // packets that ingress saw so far, this one too
    bit<32> egress_number;
    bit<32> label;           // what a table gave in egress
}

struct headers_t {
    request_t request;
    report_t report;
    extra_t extra;
}

struct metadata_t {
    bit<16> note;
    bit<32> ingress_length;
    bit<32> ingress_number;
}

parser ProbeParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.request);
        packet.extract(hdr.report);
        transition select(hdr.request.has_extra) {
            1: parse_extra;
            default: accept;
        }
    }

    state parse_extra {
        packet.extract(hdr.extra);
        transition accept;
    }
}

control ProbeVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control ProbeIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<32>>(1) seen;

    apply {
        seen.read(meta.ingress_number, 0);
        meta.ingress_number = meta.ingress_number + 1;
        seen.write(0, meta.ingress_number);
        meta.ingress_length = standard_metadata.packet_length;
        hdr.report.ingress_port = (bit<16>)standard_metadata.ingress_port;
        if (hdr.request.note != 0) {
            meta.note = hdr.request.note;
        }
        if (hdr.request.change == 1) {
            hdr.extra.setValid();
            hdr.extra.value = 0x01020304;
        } else if (hdr.request.change == 2) {
            hdr.extra.setInvalid();
        }
        standard_metadata.priority = (bit<3>)hdr.request.priority;
        if (hdr.request.egress_spec == MARK_TO_DROP) {
            mark_to_drop(standard_metadata);
        } else if (hdr.request.egress_spec != FORWARD_DEFAULT) {
            standard_metadata.egress_spec = (bit<9>)hdr.request.egress_spec;
        }
    }
}

control ProbeEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<32>>(1) seen;

    action give(bit<32> label) {
        hdr.report.label = label;
    }

    table labels {
        actions = { give; }
        default_action = give(0);
    }

    apply {
        bit<32> number;
        seen.read(number, 0);
        number = number + 1;
        seen.write(0, number);
        hdr.report.egress_port = (bit<16>)standard_metadata.egress_port;
        hdr.report.egress_spec = (bit<16>)standard_metadata.egress_spec;
        hdr.report.note = meta.note;
        hdr.report.instance_type = standard_metadata.instance_type;
        hdr.report.ingress_length = meta.ingress_length;
        hdr.report.egress_length = standard_metadata.packet_length;
        hdr.report.ingress_time = (bit<64>)standard_metadata.ingress_global_timestamp;
        hdr.report.egress_time = (bit<64>)standard_metadata.egress_global_timestamp;
        hdr.report.enq_timestamp = standard_metadata.enq_timestamp;
        hdr.report.enq_qdepth = (bit<32>)standard_metadata.enq_qdepth;
        hdr.report.deq_timedelta = standard_metadata.deq_timedelta;
        hdr.report.deq_qdepth = (bit<32>)standard_metadata.deq_qdepth;
        hdr.report.ingress_number = meta.ingress_number;
        hdr.report.egress_number = number;
        labels.apply();
        if (hdr.request.egress_drop == 1) {
            mark_to_drop(standard_metadata);
        } else if (hdr.request.egress_drop == 2) {
            standard_metadata.egress_spec = 511;
        }
    }
}

control ProbeCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control ProbeDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.request);
        packet.emit(hdr.report);
        packet.emit(hdr.extra);
    }
}

V1Switch(ProbeParser(), ProbeVerify(), ProbeIngress(), ProbeEgress(), ProbeCompute(), ProbeDeparser()) main;
