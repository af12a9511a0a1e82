#include <core.p4>
#include <tna.p4>
header ethernet_h { bit<48> dst; bit<48> src; bit<16> type; }
header bridged_h { bit<32> ts; }
struct headers_t { bridged_h bridged; ethernet_h ethernet; }
struct pair_t { bit<32> next; bit<32> count; }
struct meta_t { bit<32> now; bit<1> due; }
parser IgP(packet_in pkt, out headers_t hdr, out meta_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start { pkt.extract(ig_intr_md); pkt.advance(PORT_METADATA_SIZE); pkt.extract(hdr.ethernet); transition accept; }
}
control Ig(inout headers_t hdr, inout meta_t md, in ingress_intrinsic_metadata_t ig_intr_md, in ingress_intrinsic_metadata_from_parser_t p,
  inout ingress_intrinsic_metadata_for_deparser_t d, inout ingress_intrinsic_metadata_for_tm_t tm) {
  Hash<bit<16>>(HashAlgorithm_t.CRC16) h;
  apply { tm.ucast_egress_port = 1; hdr.bridged.setValid(); hdr.bridged.ts = p.global_tstamp[31:0]; tm.qid = (bit<5>)h.get({hdr.ethernet.src}); }
}
control IgD(packet_out pkt, inout headers_t hdr, in meta_t md) { apply { pkt.emit(hdr); } }
parser EgP(packet_in pkt, out headers_t hdr, out meta_t md, out egress_intrinsic_metadata_t eg) {
    state start { pkt.extract(eg); pkt.extract(hdr.bridged); pkt.extract(hdr.ethernet); transition accept; }
}
control Eg(inout headers_t hdr, inout meta_t md, in egress_intrinsic_metadata_t eg, in egress_intrinsic_metadata_from_parser_t p,
   inout egress_intrinsic_metadata_for_deparser_t d, inout egress_intrinsic_metadata_for_output_port_t o) {
  Register<pair_t, bit<9>>(512, {0, 7}) reg;
  MathUnit<bit<32>>(MathOp_t.DIV, 3125) step;
  RegisterAction<pair_t, bit<9>, bit<1>>(reg) act = {
     void apply(inout pair_t v, out bit<1> rv) {
        rv = 0;
        if (v.count == 0) { v.next = md.now; v.count = 2; rv = 1; }
        else if (md.now > v.next) { v.next = v.next + step.execute(v.count); v.count = v.count + 1; rv = 1; }
     }
  };
  apply { md.now = p.global_tstamp[37:6]; hdr.bridged.setInvalid(); md.due = act.execute(eg.egress_port); if (md.due == 1) { hdr.ethernet.type = 1; } }
}
control EgD(packet_out pkt, inout headers_t hdr, in meta_t md) { apply { pkt.emit(hdr); } }
Pipeline(IgP(), Ig(), IgD(), EgP(), Eg(), EgD()) pipe;
Switch(pipe) main;
