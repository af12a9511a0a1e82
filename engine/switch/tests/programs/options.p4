// Writes into a packet with options of varying length its length, after adding or removing a header.
#include <core.p4>
#include <v1model.p4>

header first_t {
    bit<8> option_bytes;
    bit<8> change;           // 1: ingress adds the extra header; 2: takes the options away
    bit<16> egress_length;
}

header options_t {
    varbit<256> data;
}

header extra_t {
    bit<32> value;
}

struct headers_t {
    first_t first;
    options_t options;
    extra_t extra;
}

struct metadata_t { }

parser OptionsParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.first);
        packet.extract(hdr.options, (bit<32>)hdr.first.option_bytes * 8);
        transition accept;
    }
}

control OptionsVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control OptionsIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.first.change == 1) {
            hdr.extra.setValid();
        } else if (hdr.first.change == 2) {
            hdr.options.setInvalid();
        }
    }
}

control OptionsEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.first.egress_length = (bit<16>)standard_metadata.packet_length;
    }
}

control OptionsCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control OptionsDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.first);
        packet.emit(hdr.options);
        packet.emit(hdr.extra);
    }
}

V1Switch(OptionsParser(), OptionsVerify(), OptionsIngress(), OptionsEgress(), OptionsCompute(), OptionsDeparser()) main;
