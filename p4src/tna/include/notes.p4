// SPDX-License-Identifier: MIT OR Apache-2.0
// Notes: values that a decision leaves for later packets in registers that its own packet has already passed. A copy
// carries a note through egress once more. This takes about a microsecond on the chip, and no time in the simulator. A
// scheme that leaves notes includes this file, implements
//
//     control Marking(in queue_signals_t q, in noted_t noted, inout note_t note, out decision_t decision,
//                     out cause_t cause)
//
// and ends with mirrored.p4. Marking is called for a note as well. Then `noted` is valid, and `q` has only the queue
// and `now_ns`, which is the `ns` of the note.
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
