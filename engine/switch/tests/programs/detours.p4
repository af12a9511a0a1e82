// A switch that takes the detours that a packet requests, and writes into it the metadata that each control got.
#include <core.p4>
#include <v1model.p4>

// Bits of request_t.ingress.
const bit<8> CLONE = 1;
const bit<8> RESUBMIT = 2;
const bit<8> DIGEST = 4;
const bit<8> MULTICAST = 8;
const bit<8> TRUNCATE = 16;
const bit<8> DROP = 32;
const bit<8> FAIL = 64;
const bit<8> ENDLESS = 128;   // do it all again in each round
// Bits of request_t.egress: CLONE, TRUNCATE, DROP, FAIL, ENDLESS and
const bit<8> RECIRCULATE = 2;

// Frames that come in by this port have an extra header after the report.
const bit<9> EXTRA_PORT = 3;

header request_t {
    bit<8> ingress;
    bit<8> egress;
    bit<16> session;
    bit<16> group;
    bit<16> ingress_bytes;   // for truncate
    bit<16> egress_bytes;
    bit<8> egress_spec;
    bit<8> priority;
}

header report_t {
    bit<8> ingress_rounds;   // times that ingress ran over these bytes
    bit<8> egress_rounds;
    bit<8> ingress_type;     // instance_type as ingress saw it, if the packet still knows
    bit<8> egress_type;
    bit<16> ingress_port;
    bit<16> egress_port;
    bit<16> rid;
    bit<16> kept;            // in the field list
    bit<16> forgotten;       // in metadata beside it
    bit<16> has_extra;
    bit<32> ingress_length;  // packet_length as ingress saw it
    bit<32> egress_length;
    bit<32> ingress_time;    // ingress_global_timestamp as egress sees it
}

header extra_t {
    bit<16> value;
}

struct headers_t {
    request_t request;
    report_t report;
    extra_t extra;
}

struct metadata_t {
    @field_list(1)
    bit<16> kept;
    bit<16> forgotten;
}

struct note_t {
    bit<16> session;
    bit<8> rounds;
}

parser DetourParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.request);
        packet.extract(hdr.report);
        transition select(standard_metadata.ingress_port) {
            EXTRA_PORT: parse_extra;
            default: accept;
        }
    }

    state parse_extra {
        meta.forgotten = 9;
        packet.extract(hdr.extra);
        transition accept;
    }
}

control DetourVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control DetourIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        bit<8> ask = hdr.request.ingress;
        hdr.report.ingress_type = (bit<8>)standard_metadata.instance_type;
        hdr.report.ingress_rounds = hdr.report.ingress_rounds + 1;
        hdr.report.ingress_length = standard_metadata.packet_length;
        if (ask & ENDLESS == 0) {
            hdr.request.ingress = 0;
        }
        meta.kept = meta.kept + 1;
        meta.forgotten = meta.forgotten + 2;
        standard_metadata.egress_spec = (bit<9>)hdr.request.egress_spec;
        standard_metadata.priority = (bit<3>)hdr.request.priority;
        if (ask & TRUNCATE != 0) {
            truncate((bit<32>)hdr.request.ingress_bytes);
        }
        if (ask & CLONE != 0) {
            clone_preserving_field_list(CloneType.I2E, (bit<32>)hdr.request.session, 1);
        }
        if (ask & DIGEST != 0) {
            digest<note_t>(1, { 0, 0 });
            digest<note_t>(1, { hdr.request.session, hdr.report.ingress_rounds });
            log_msg("round {} of session {}", { hdr.report.ingress_rounds, hdr.request.session });
        }
        if (ask & RESUBMIT != 0 && (hdr.report.ingress_type != 6 || ask & ENDLESS != 0)) {
            resubmit_preserving_field_list(1);
        }
        if (ask & MULTICAST != 0) {
            standard_metadata.mcast_grp = hdr.request.group;
        }
        if (ask & DROP != 0) {
            standard_metadata.egress_spec = 511;
        }
        // What counts for a field list is the value at the end.
        meta.kept = meta.kept + 4;
        assert(ask & FAIL == 0);
    }
}

control DetourEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.report.egress_rounds = hdr.report.egress_rounds + 1;
        hdr.report.egress_type = (bit<8>)standard_metadata.instance_type;
        hdr.report.ingress_port = (bit<16>)standard_metadata.ingress_port;
        hdr.report.egress_port = (bit<16>)standard_metadata.egress_port;
        hdr.report.rid = standard_metadata.egress_rid;
        hdr.report.kept = meta.kept;
        hdr.report.forgotten = meta.forgotten;
        hdr.report.has_extra = hdr.extra.isValid() ? 16w1 : 0;
        hdr.report.egress_length = standard_metadata.packet_length;
        hdr.report.ingress_time = (bit<32>)standard_metadata.ingress_global_timestamp;
        bit<8> ask = hdr.request.egress;
        if (standard_metadata.instance_type == 1 || (standard_metadata.instance_type == 2 && ask & ENDLESS == 0)) {
            ask = 0;
        }
        if (ask & ENDLESS == 0) {
            hdr.request.egress = 0;
        }
        if (ask & CLONE != 0) {
            clone_preserving_field_list(CloneType.E2E, (bit<32>)hdr.request.session, 1);
        }
        if (ask & RECIRCULATE != 0) {
            hdr.extra.setValid();
            hdr.extra.value = 0x0a0b;
            recirculate_preserving_field_list(1);
        }
        if (ask & TRUNCATE != 0) {
            truncate((bit<32>)hdr.request.egress_bytes);
        }
        if (ask & DROP != 0) {
            mark_to_drop(standard_metadata);
        }
        meta.kept = meta.kept + 16;
        assume(ask & FAIL == 0);
    }
}

control DetourCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control DetourDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.request);
        packet.emit(hdr.report);
        packet.emit(hdr.extra);
    }
}

V1Switch(DetourParser(), DetourVerify(), DetourIngress(), DetourEgress(), DetourCompute(), DetourDeparser()) main;
