// SPDX-License-Identifier: MIT OR Apache-2.0
// What a decision leaves for the packets behind it, in registers that its own packet has passed: a copy carries it through
// egress once more. It takes a microsecond or so on the chip, and no time in the simulator. A scheme that leaves notes includes
// this file, implements
//
//     control Marking(in queue_signals_t q, in noted_t noted, inout note_t note, out decision_t decision, out cause_t cause)
//
// and ends with mirrored.p4. It is called for a note as well, with a valid `noted`, whose `ns` is `now_ns` of `q`, and nothing
// but the queue beside it.
#ifndef MARKLAB_TNA_NOTES_P4
#define MARKLAB_TNA_NOTES_P4

#include "marking.p4"

struct note_t {
    bit<1> written;
    bit<8> what;
    bit<8> step;
    bit<32> ns;
    bit<32> value;
}

header noted_t {
    bit<8> kind;
    bit<8> what;
    bit<8> step;
    bit<8> queue;
    bit<16> port;
    bit<32> ns;
    bit<32> value;
}

#endif // MARKLAB_TNA_NOTES_P4
