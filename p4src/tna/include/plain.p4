// SPDX-License-Identifier: MIT OR Apache-2.0
// The switch of schemes that need only the queue's state: IPv4 forwarding with ECMP, and one call of the scheme's
// Marking in egress. It does what v1model/include/switch.p4 does; entries differ where a comment says so.
//
//     parser -> Ingress: ipv4_lpm -> (ecmp) -> queue -> deparser, traffic manager, parser -> Egress: Marking -> deparser
//
#ifndef MARKLAB_TNA_PLAIN_P4
#define MARKLAB_TNA_PLAIN_P4

#include "../../include/headers.p4"
#include "egress_kinds.p4"
#include "marking.p4"
#include "verdict.p4"

// Data from ingress for egress: a header before the packet, through the traffic manager.
header bridged_t {
    bit<8> kind;
    bit<32> arrival_ns;        // when the packet came to its queue
    bit<1> _pad;
    bit<7> queue;
}

struct headers_t {
    bridged_t bridged;
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
}

struct egress_metadata_t {
    queue_signals_t q;
    decision_t decision;
    cause_t cause;
}

#include "forward.p4"
#include "signals.p4"
#include "egress_ends.p4"

control Egress(inout headers_t hdr,
               inout egress_metadata_t meta,
               in egress_intrinsic_metadata_t eg_intr_md,
               in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
               inout egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr,
               inout egress_intrinsic_metadata_for_output_port_t eg_intr_md_for_oport) {
    Signals() signals;
    Marking() marking;
    Verdict() verdict;

    apply {
        signals.apply(hdr, eg_intr_md, eg_intr_md_from_prsr, meta.q);
        marking.apply(meta.q, meta.decision, meta.cause);
        verdict.apply(eg_intr_md.egress_port, meta.decision, meta.cause, hdr.ipv4.ecn, eg_intr_md_for_dprsr.drop_ctl);
        hdr.bridged.setInvalid();
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;

Switch(pipe) main;

#endif // MARKLAB_TNA_PLAIN_P4
