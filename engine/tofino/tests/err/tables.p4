/* Tables. */
#include "before.p4"

control Eg(EGRESS) {
    action set(bit<32> x) {
        md.x = x;
    }
    table twice {
        key = {
            hdr.h.a: exact;
        }
        actions = {
            set;
        }
        size = 16;
    }

    apply {
        twice.apply();
        if (hdr.h.b == 0) {
            twice.apply(); // E1501
        }
    }
}

#include "after.p4"
