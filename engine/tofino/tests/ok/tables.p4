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

    apply {
        if (hdr.h.b == 0) {
            either.apply();
        } else if (hdr.h.b == 1) {
            either.apply();
        }
    }
}

#include "after.p4"
