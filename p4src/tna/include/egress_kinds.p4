// SPDX-License-Identifier: MIT OR Apache-2.0
// The first byte of a packet in egress: with a header from ingress, or a copy that egress made.
#ifndef MARKLAB_TNA_EGRESS_KINDS_P4
#define MARKLAB_TNA_EGRESS_KINDS_P4

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

#endif // MARKLAB_TNA_EGRESS_KINDS_P4
