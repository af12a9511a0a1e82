// SPDX-License-Identifier: MIT OR Apache-2.0
// The queue as egress sees it. Switches include this file after their headers_t.
#ifndef MARKLAB_TNA_SIGNALS_P4
#define MARKLAB_TNA_SIGNALS_P4

control Signals(in headers_t hdr,
                in egress_intrinsic_metadata_t eg_intr_md,
                in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
                inout queue_signals_t q) {
    // TNA shows the queue in egress only. enq_qdepth is what the packet found when it came: a threshold on it marks the
    // same packet as a chip that marks at enqueue, one sojourn later.
    action look() {
        q.port = eg_intr_md.egress_port;
        q.queue = hdr.bridged.queue;
        q.cell = hdr.bridged.queue[4:0] ++ eg_intr_md.egress_port;
        q.enq_qdepth_cells = (bit<32>)eg_intr_md.enq_qdepth;
        q.deq_qdepth_cells = (bit<32>)eg_intr_md.deq_qdepth;
        q.length_bytes = eg_intr_md.pkt_length - (bit<16>)hdr.bridged.minSizeInBytes();
        q.now_ns = eg_intr_md_from_prsr.global_tstamp[31:0];
        q.arrival_ns = hdr.bridged.arrival_ns;
    }

    // Not deq_timedelta, whose 18 bits wrap at 262 us.
    action measure() {
        q.sojourn_ns = q.now_ns - hdr.bridged.arrival_ns;
    }

    apply {
        look();
        measure();
    }
}

#endif // MARKLAB_TNA_SIGNALS_P4
