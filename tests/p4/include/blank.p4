// The parts of a switch that a test of parsers and headers leaves empty. A program declares headers_t, metadata_t, its
// parser, ingress and deparser.

control BlankVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control BlankEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    apply {}
}

control BlankCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}
