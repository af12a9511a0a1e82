// Functions, sub-controls and actions: the order in which arguments are copied, what `exit` and `return` end.
#include "include/frame.p4"

bit<8> next(inout bit<8> counter) {
    counter = counter + 1;
    return counter;
}
T choose<T>(in bool first, in T a, in T b) {
    if (first) {
        return a;
    }
    return b;
}
void clear(out bit<8> x, out bit<8> y) {
    x = 1;
}
bool is_small(inout bit<8> seen, in bit<8> x) {
    seen = seen + x;
    return x < 4;
}

control Counter(inout bit<8> value, in bit<8> by = 2)(bit<8> limit) {
    bit<8> calls = 0;
    action add(in bit<8> step) {
        value = value + step;
    }
    apply {
        calls = calls + 1;
        if (value >= limit) {
            return;
        }
        add(by);
        value = value + calls;
    }
}
control Direct(inout bit<8> value) {
    apply {
        if (value == 0) {
            exit;
        }
        value = value - 1;
    }
}

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Counter(10) small;
    Counter(limit = 200) large;
    action swap(inout bit<8> x, inout bit<8> y, bit<8> base) {
        bit<8> old = x;
        x = y + base;
        y = old;
    }
    table swaps {
        key = { hdr.h.c: exact; }
        actions = { swap(hdr.h.a, hdr.h.b); NoAction; }
    }
    apply {
        small.apply(hdr.h.a, 1);
        small.apply(value = hdr.h.b);
        large.apply(by = hdr.h.a, value = hdr.h.b);
        // The right side is not evaluated if the left one decides.
        if (is_small(meta.y, hdr.h.a) && is_small(meta.y, hdr.h.b)) {
            meta.x = 1;
        }
        // From left to right, even if the second operand changes the first.
        meta.x = (bit<16>)(hdr.h.a + next(hdr.h.a));
        meta.x = choose(meta.x > 7, meta.x, 7);
        clear(hdr.h.a, hdr.h.a);
        clear(_, hdr.h.b);
        swap(hdr.h.a, hdr.h.b, 3);
        swaps.apply();
        Direct.apply(hdr.h.a);
        meta.x = 9;
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
