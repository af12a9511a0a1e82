// SPDX-License-Identifier: MIT OR Apache-2.0
// What comes before a packet in egress: what ingress sends along, or a copy that egress made, by its first byte.
#ifndef MARKLAB_TNA_EGRESS_KINDS_P4
#define MARKLAB_TNA_EGRESS_KINDS_P4

const bit<8> KIND_PACKET = 0;
const bit<8> KIND_COPY = 1;

// Copies that egress makes for what they carry; their session leads to a port of recirculation.
const MirrorType_t MIRROR_COPY = 1;
const MirrorId_t COPY_SESSION = 1;

// What a copy begins with, and where it goes.
struct copy_t {
    MirrorId_t session;
    bit<8> kind;
    bit<8> queue;
    bit<16> port;
}

#endif // MARKLAB_TNA_EGRESS_KINDS_P4
