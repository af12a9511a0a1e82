/* Conditions that no gateway can test. */
#include "before.p4"

control Eg(EGRESS) {
    apply {
        if (hdr.h.a + hdr.h.b == 0) { // E1301
            md.x = 1;
        }
        if (hdr.h.a > hdr.h.b) { // E1302
            md.x = 2;
        }
        if (hdr.h.a16 > 30000) { // E1303
            md.x = 3;
        }
        if (md.depth >= 101 * 64) { // E1303
            md.x = 4;
        }
        if (hdr.h.s16 > 5) { // E1303
            md.x = 5;
        }
        if (hdr.h.a8 > 4 && hdr.h.b8 > 4) { // E1303
            md.x = 6;
        }
        if (hdr.h.a48 == hdr.h.b48) { // E1305
            md.x = 7;
        }
        if (hdr.h.a == 1 && hdr.h.a16 == 1) { // E1304
            md.x = 8;
        }
        if (max(hdr.h.a, hdr.h.b) == 3) { // E1301
            md.x = 9;
        }
        if (!(hdr.h.a != 1 || hdr.h.a16 != 1)) { // E1304
            md.x = 11;
        }
        if ((hdr.h.a8 == 1 || hdr.h.a8 == 2) && (hdr.h.b8 == 1 || hdr.h.b8 == 2) && // E1306
                (hdr.h.a16 == 1 || hdr.h.a16 == 2 || hdr.h.a16 == 3) &&
                (hdr.h.b16[11:0] == 1 || hdr.h.b16[11:0] == 2 || hdr.h.b16[11:0] == 3)) {
            md.x = 10;
        }
        md.y = hdr.h.c |-| hdr.h.d;
        if (md.y != 0) { // E1307
            md.x = 12;
        }
    }
}

#include "after.p4"
