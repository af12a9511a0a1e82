// SPDX-License-Identifier: MIT OR Apache-2.0
// The header that carries data from ingress to egress. Switches include this file after their headers_t.
#ifndef MARKLAB_TNA_CARRY_P4
#define MARKLAB_TNA_CARRY_P4

// Adds the header, with the time at which the packet came. The queue is set when it is known.
control Carry(in ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr, inout headers_t hdr) {
    action add() {
        hdr.bridged.setValid();
        hdr.bridged.kind = KIND_PACKET;
        hdr.bridged.arrival_ns = ig_intr_md_from_prsr.global_tstamp[31:0];
        hdr.bridged._pad = 0;
        hdr.bridged.queue = 0;
    }

    apply {
        add();
    }
}

#endif // MARKLAB_TNA_CARRY_P4
