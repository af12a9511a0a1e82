// SPDX-License-Identifier: MIT OR Apache-2.0
// The switch of schemes that need only the queue's state: IPv4 forwarding with ECMP, and one call of the scheme's
// Marking in egress. It does what v1model/include/switch.p4 does; entries differ where a comment says so.
//
//     parser -> Ingress: ipv4_lpm -> (ecmp) -> queue -> deparser, traffic manager
//     parser -> Egress: Marking -> deparser
//
#ifndef MARKLAB_TNA_PLAIN_P4
#define MARKLAB_TNA_PLAIN_P4

#include "../../include/headers.p4"
#include "bridged.p4"
#include "marking.p4"
#include "verdict.p4"

struct headers_t {
    bridged_t bridged;
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
}

// No packet needs to know its flow.
control Identify(in headers_t hdr, inout queue_signals_t q) {
    apply {}
}

#include "forward.p4"
#include "egress.p4"

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;

Switch(pipe) main;

#endif // MARKLAB_TNA_PLAIN_P4
