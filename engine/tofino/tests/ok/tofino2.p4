/* What Tofino 2 can do and Tofino 1 cannot: four comparisons, masks in them, division, more than 12 stages. */
#define __TARGET_TOFINO__ 2
#include "before.p4"

control Eg(EGRESS) {
    Register<bit<32>, bit<8>>(256) r;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r) four = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (value == 1 || value == 2 || value > hdr.h.a || value & 0xff == 5) {
                rv = 1;
            }
        }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(r) quotient = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value / hdr.h.a;
        }
    };

    apply {
        if (hdr.h.b8 == 0) {
            hdr.h.b = four.execute(hdr.h.a8);
        } else {
            hdr.h.b = quotient.execute(hdr.h.a8);
        }
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
        hdr.h.a = hdr.h.a + 13;
    }
}

#include "after.p4"
