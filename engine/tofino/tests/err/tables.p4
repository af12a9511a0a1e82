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

    table wide_range {
        key = {
            md.x20: range;
            md.x21: range; // E1502
            md.y[19:1]: range;
            md.y[20:1]: range; // E1506
        }
        actions = {
            set;
        }
        size = 16;
    }
    table mixed { // E1503
        key = {
            hdr.h.a: lpm;
            hdr.h.b: ternary;
        }
        actions = {
            set;
        }
        size = 16;
    }
    table mixed_range { // E1503
        key = {
            hdr.h.a: lpm;
            hdr.h.a8: range;
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
        wide_range.apply();
        mixed.apply();
        if (mixed_range.apply().hit && hdr.h.b == 1) { // E1504
            md.y = 1;
        }
    }
}

#include "after.p4"
