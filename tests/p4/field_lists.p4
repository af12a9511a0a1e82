// Metadata of a packet that is resubmitted, recirculated or cloned: the fields of the list that is named last, with their
// values at the end of the control; several lists, a field in two of them, a wide field, a bool, a field of a header.
#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  op;
    bit<8>  first;
    bit<8>  second;
    bit<8>  both;
    bit<8>  none;
    bit<80> wide;
    bit<7>  passes;
    bit<1>  flag;
}

struct headers_t {
    data_t data;
}

struct metadata_t {
    @field_list(1)
    bit<8>  first;
    @field_list(2)
    bit<8>  second;
    @field_list(1, 2)
    bit<8>  both;
    bit<8>  none;
    @field_list(2)
    bit<80> wide;
    @field_list(1)
    bool    flag;
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

#include "include/blank.p4"

control Show(inout data_t data, in metadata_t meta) {
    apply {
        data.first = meta.first;
        data.second = meta.second;
        data.both = meta.both;
        data.none = meta.none;
        data.wide = meta.wide;
        data.flag = (bit<1>)meta.flag;
        data.passes = data.passes + 1;
    }
}

control Fill(inout metadata_t meta) {
    apply {
        meta.first = meta.first + 0x11;
        meta.second = meta.second + 0x22;
        meta.both = meta.both + 0x33;
        meta.none = meta.none + 0x44;
        meta.wide = meta.wide + 0x55555555555555555555;
        meta.flag = true;
    }
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    Show() show;
    Fill() fill;

    apply {
        s.egress_spec = 1;
        if (!hdr.data.isValid()) {
            exit;
        }
        show.apply(hdr.data, meta);
        fill.apply(meta);
        if (s.instance_type == 0) {
            switch (hdr.data.op) {
                1: { resubmit_preserving_field_list(1); }
                2: { resubmit_preserving_field_list(2); }
                3: { resubmit_preserving_field_list(1); resubmit_preserving_field_list(2); }
                4: { resubmit_preserving_field_list(9); }
                5: { clone_preserving_field_list(CloneType.I2E, 5, 1); }
                6: { clone_preserving_field_list(CloneType.I2E, 5, 2); }
                7: { clone_preserving_field_list(CloneType.I2E, 6, 1); clone_preserving_field_list(CloneType.I2E, 5, 2); }
            }
            // The lists take the values of the fields at the end.
            meta.both = 0x99;
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    Show() show;
    Fill() fill;

    apply {
        if (!hdr.data.isValid()) {
            exit;
        }
        if (s.instance_type == 1 || s.instance_type == 2) {
            show.apply(hdr.data, meta);
        } else if (hdr.data.passes == 1) {
            fill.apply(meta);
            switch (hdr.data.op) {
                0x11: { recirculate_preserving_field_list(1); }
                0x12: { recirculate_preserving_field_list(2); }
                0x13: { clone_preserving_field_list(CloneType.E2E, 5, 1); }
                0x14: { clone_preserving_field_list(CloneType.E2E, 5, 2); }
            }
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.data);
    }
}

V1Switch(TestParser(), BlankVerify(), TestIngress(), TestEgress(), BlankCompute(), TestDeparser()) main;
