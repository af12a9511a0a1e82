/* A table of all TCAMs of the chip. */
#include "before.p4"

control Eg(EGRESS) {
    action set(bit<32> x) {
        hdr.h.b = x;
    }
    table large {
        key = {
            hdr.h.a48: ternary;
        }
        actions = {
            set;
        }
        size = 135168;
    }

    apply {
        large.apply();
    }
}

#include "after.p4"
