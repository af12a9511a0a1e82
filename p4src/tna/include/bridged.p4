// SPDX-License-Identifier: MIT OR Apache-2.0
// What is in front of a packet in egress: a header from ingress, or the data of a copy that egress made. The first byte
// tells which.
#ifndef MARKLAB_TNA_BRIDGED_P4
#define MARKLAB_TNA_BRIDGED_P4

const bit<8> KIND_PACKET = 0;
const bit<8> KIND_COPY = 1;

// Copies that egress makes to carry data; their mirror session leads to a recirculation port.
const MirrorType_t MIRROR_COPY = 1;
const MirrorId_t COPY_SESSION = 1;

// The mirror session of a copy, and the first fields of its header.
struct copy_t {
    MirrorId_t session;
    bit<8> kind;
    bit<8> queue;
    bit<16> port;
}

// Data from ingress for egress: a header before the packet, through the traffic manager.
header bridged_t {
    bit<8> kind;
    bit<32> arrival_ns;        // when the packet came to its queue
    bit<1> _pad;
    bit<7> queue;
}

// The same for egress that asks for the packet's flow.
header bridged_flow_t {
    bit<8> kind;
    bit<32> arrival_ns;
    bit<1> _pad;
    bit<7> queue;
    bit<32> flow;
}

#endif // MARKLAB_TNA_BRIDGED_P4
