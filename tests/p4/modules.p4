// Nested parts: sub-parsers and sub-controls with constructor parameters, each instance with its own objects;
// directions of parameters; actions that call actions; functions that call functions; arguments by name; exit and return
// from inside.
#include <core.p4>
#include <v1model.p4>

header op_t {
    bit<8> op;
    bit<8> arg;
}

header word_t {
    bit<16> value;
}

struct headers_t {
    op_t   op;
    word_t first;
    word_t second;
    word_t result;
}

struct metadata_t {
    bit<8> seen;
}

// Skips words until one is not `skipped`, at most `most` of them.
parser Words(packet_in packet, out word_t word, inout bit<8> seen)(bit<16> skipped, bit<8> most) {
    bit<8> left = most;

    state start {
        seen = seen + 1;
        left = left - 1;
        transition select(packet.lookahead<bit<16>>() == skipped && left != 0) {
            true: skip;
            false: found;
        }
    }

    state skip {
        packet.advance(16);
        transition start;
    }

    state found {
        packet.extract(word);
        transition accept;
    }
}

parser Both(packet_in packet, out word_t first, out word_t second, inout bit<8> seen) {
    Words(0, 3) zeros;
    Words(most = 2, skipped = 0xffff) ones;

    state start {
        zeros.apply(packet, first, seen);
        transition select(first.value) {
            0xdead: accept;
            default: more;
        }
    }

    state more {
        ones.apply(packet, second, seen);
        transition accept;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    Both() both;

    state start {
        packet.extract(hdr.op);
        both.apply(packet, hdr.first, hdr.second, meta.seen);
        transition accept;
    }
}

#include "include/blank.p4"

bit<16> square(in bit<16> value) {
    return value * value;
}

bit<16> sum_of_squares(in bit<16> one, in bit<16> other) {
    if (one == other) {
        return 2 * square(one);
    }
    return square(one) + square(other);
}

void divide(in bit<16> value, out bit<16> quotient, out bit<16> remainder) {
    quotient = value >> 4;
    remainder = value & 0xf;
}

control Counting(inout bit<16> value)(bit<16> step, bit<16> start) {
    // Each instance counts for itself.
    register<bit<16>>(1) counted;

    action next(in bit<16> by, out bit<16> now) {
        bit<16> before;
        counted.read(before, 0);
        now = before + by;
        counted.write(0, now);
    }

    action give(bit<16> more) {
        bit<16> now;
        next(step, now);
        value = start + now + more;
    }

    table giving {
        key = { value: exact; }
        actions = { give; NoAction; }
        default_action = give(0);
    }

    apply {
        if (value == 0xffff) {
            return;
        }
        giving.apply();
    }
}

control Twice(inout bit<16> value, in bit<8> which)(bit<16> start) {
    Counting(step = 1, start = start) ones;
    Counting(10, start) tens;

    apply {
        if (which == 0) {
            ones.apply(value);
        } else {
            tens.apply(value);
        }
    }
}

// In a separate instance: p4c-bm2-ss 1.2.5 fails if two instances can exit.
control Leaving(in bit<16> value) {
    apply {
        if (value == 0xeeee) {
            exit;
        }
    }
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    Twice(0x100) low;
    Twice(0x200) high;
    Leaving() leaving;

    apply {
        s.egress_spec = 1;
        if (!hdr.first.isValid()) {
            exit;
        }
        hdr.result.setValid();
        hdr.result.value = 0;
        switch (hdr.op.op) {
            0: { hdr.result.value = 8w0 ++ meta.seen; }
            1: { low.apply(hdr.first.value, hdr.op.arg); }
            2: { high.apply(hdr.first.value, hdr.op.arg); }
            3: { hdr.result.value = sum_of_squares(other = hdr.first.value, one = 8w0 ++ hdr.op.arg); }
            4: { divide(hdr.first.value, _, hdr.result.value); }
            5: { divide(remainder = hdr.result.value, value = 0x1234, quotient = hdr.first.value); }
        }
        leaving.apply(hdr.first.value);
        hdr.op.arg = hdr.op.arg | 0x80;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), BlankVerify(), TestIngress(), BlankEgress(), BlankCompute(), TestDeparser()) main;
