/* Tables. */
#include "before.p4"

control Eg(EGRESS) {
    action set(bit<32> x) {
        md.x = x;
    }
    table either {
        key = {
            hdr.h.a: exact;
        }
        actions = {
            set;
        }
        size = 16;
    }

    table ranges {
        key = {
            md.x20: range;
            md.depth: range;
            hdr.h.b: ternary;
        }
        actions = {
            set;
        }
        size = 16;
    }

    apply {
        if (ranges.apply().miss) {
            md.y = 1;
        }
        if (hdr.h.b == 0) {
            either.apply();
        } else if (hdr.h.b == 1) {
            either.apply();
        }
    }
}

#include "after.p4"
