/* Conditions at the limits of a gateway. */
#include "before.p4"

control Eg(EGRESS) {
    action differ() {
        md.y = hdr.h.c |-| hdr.h.d;
    }

    apply {
        differ();
        if (md.y != 0) {
            md.x = 12;
        }
        md.yes = hdr.h.c == 7;
        if (md.yes) {
            md.x = 13;
        }
        if (hdr.h.a == 0 && hdr.h.b8 == 1) {
            md.x = 1;
        }
        if (hdr.h.a > 0 && hdr.h.b8 <= 0x7f) {
            md.x = 2;
        }
        if (hdr.h.a16 >= 30000 & 0xfff0) {
            md.x = 3;
        }
        if (md.depth >= 101 * 128) {
            md.x = 4;
        }
        if (hdr.h.s16 > -1) {
            md.x = 5;
        }
        if (hdr.h.a8 > 3 && hdr.h.b8 > 3) {
            md.x = 6;
        }
        if (hdr.h.a48[31:0] == hdr.h.b48[31:0]) {
            md.x = 7;
        }
        if (hdr.h.a == 1 && hdr.h.a16[11:0] == 1) {
            md.x = 8;
        }
        if (hdr.h.a & 0xff == 0 || hdr.h.b & 0xff00 == 0x100 || hdr.h.isValid()) {
            md.x = 9;
        }
        if ((hdr.h.a8 == 1 || hdr.h.a8 == 2) && (hdr.h.b8 == 1 || hdr.h.b8 == 2) &&
                (hdr.h.a16 == 1 || hdr.h.a16 == 2) && hdr.h.b16[11:0] == 1) {
            md.x = 10;
        }
    }
}

#include "after.p4"
