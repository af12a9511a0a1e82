// The switch around a `Work` control: it parses one header, applies `Work`, and sends the packet to port 1 unless `Work`
// chose another port. A program includes this file after it has declared `control Work(inout data_t d, inout standard_metadata_t s)`.

struct headers_t {
    data_t data;
}

struct metadata_t {}

parser ShellParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control ShellVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control ShellIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    Work() work;

    apply {
        s.egress_spec = 1;
        // Two switches need not agree on the values of fields of a missing header.
        if (hdr.data.isValid()) {
            work.apply(hdr.data, s);
        }
    }
}

control ShellEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    apply {}
}

control ShellCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control ShellDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.data);
    }
}

V1Switch(ShellParser(), ShellVerify(), ShellIngress(), ShellEgress(), ShellCompute(), ShellDeparser()) main;
