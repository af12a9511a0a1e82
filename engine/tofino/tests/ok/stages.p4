/* Each statement needs the result of the one before: 12 stages. */
#include "before.p4"

control Eg(EGRESS) {
    apply {
        hdr.h.a = hdr.h.a + 1;
        hdr.h.a = hdr.h.a + 2;
        hdr.h.a = hdr.h.a + 3;
        hdr.h.a = hdr.h.a + 4;
        hdr.h.a = hdr.h.a + 5;
        hdr.h.a = hdr.h.a + 6;
        hdr.h.a = hdr.h.a + 7;
        hdr.h.a = hdr.h.a + 8;
        hdr.h.a = hdr.h.a + 9;
        hdr.h.a = hdr.h.a + 10;
        hdr.h.a = hdr.h.a + 11;
        hdr.h.a = hdr.h.a + 12;
    }
}

#include "after.p4"
