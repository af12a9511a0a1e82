// SPDX-FileCopyrightText: 2013 Barefoot Networks, Inc. (declarations, those of p4c)
// SPDX-License-Identifier: Apache-2.0
/* The core library of P4_16 (spec appendix D): the basis of every architecture. */

#ifndef _CORE_P4_
#define _CORE_P4_

/* The numbers of the errors are their positions; a program's own errors follow. */
error {
    NoError,
    PacketTooShort,         // the packet is too short for the requested bits
    NoMatch,                // no case of a select matches
    StackOutOfBounds,       // an element that a header stack does not have
    HeaderTooShort,         // more bits than a varbit field can hold
    ParserTimeout,          // the parser ran for too long
    ParserInvalidArgument   // a width that the target cannot extract or skip
}

/* The packet as the parser sees it: bits in front of a cursor. */
extern packet_in {
    /* Reads a header of fixed size, or the next element of a stack, and moves the cursor past it. */
    void extract<T>(out T hdr);
    /* Reads a header with one varbit field, which gets the given number of bits. */
    void extract<T>(out T variableSizeHeader, in bit<32> variableFieldSizeInBits);
    /* Reads without moving the cursor. */
    T lookahead<T>();
    /* Moves the cursor without reading. */
    void advance(in bit<32> sizeInBits);
    /* Bytes in the whole packet. */
    bit<32> length();
}

/* The packet as the deparser writes it. */
extern packet_out {
    /* Appends a header if it is valid; for stacks, unions and structs, every valid header. */
    void emit<T>(in T hdr);
}

/* Parser: goes to reject with this error unless the condition holds. */
extern void verify(in bool check, in error toSignal);

/* Does nothing; the default action of a table that names none. */
@noWarn("unused")
action NoAction() {}

match_kind {
    exact,
    ternary,
    lpm
}

/* Checked at compile time; the value is always true. */
extern bool static_assert(bool check, string message);
extern bool static_assert(bool check);

#endif // _CORE_P4_
