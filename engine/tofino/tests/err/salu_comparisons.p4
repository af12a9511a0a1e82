/* Conditions of a RegisterAction: number, form and operands of comparisons. */
#include "before.p4"

control Eg(EGRESS) {
    Register<bit<32>, bit<8>>(256) r0;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r0) a0 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (value == 1) {
                rv = 1;
            } else if (value == 2) {
                rv = 1;
            } else if (value > hdr.h.a) { // E1003
                rv = 1;
            }
        }
    };
    Register<pair_t, bit<8>>(256) r1;
    RegisterAction<pair_t, bit<8>, bit<32>>(r1) a1 = {
        void apply(inout pair_t value, out bit<32> rv) {
            if (value.low > value.high) { // E1004
                rv = 1;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r2;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r2) a2 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (hdr.h.a > hdr.h.b) { // E1004
                rv = 1;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r3;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r3) a3 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            value = value + 1;
            if (value > 5) { // E1004 W1001
                rv = 1;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r4;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r4) a4 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (value & 0xff == 0) { // E1005
                rv = 1;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r5;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r5) a5 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (value[7:0] == 0) { // E1023
                rv = 1;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r6;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r6) a6 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (value > hdr.h.a) {
                value = hdr.h.a;
            }
            if (value == 5) { // E1006
                rv = 1;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r7;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r7) a7 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (from_prsr.global_tstamp > 5) { // E1014
                rv = 1;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r8;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r8) a8 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (value > 0x80000001) { // E1020
                rv = 1;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r9;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r9) a9 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if ((int<32>)(hdr.h.a - value) > 0) { // E1026
                rv = 1;
            }
        }
    };
    Register<int<32>, bit<8>>(256) r10;
    RegisterAction<int<32>, bit<8>, bit<32>>(r10) a10 = {
        void apply(inout int<32> value, out bit<32> rv) {
            if (hdr.h.s16 - hdr.h.s16 > 0) { // E1019 E1004
                rv = 1;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r11;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r11) a11 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (hdr.h.a - value > 100) { // W1001
                rv = 1;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r12;
    RegisterAction<bit<32>, bit<8>, void>(r12) a12 = {
        void apply(inout bit<32> value) {
            value = value + (bit<32>)(bit<1>)(value > 5); // E1025
        }
    };

    apply {
        md.x = a0.execute(hdr.h.a8);
        md.x = a1.execute(hdr.h.a8);
        md.x = a2.execute(hdr.h.a8);
        md.x = a3.execute(hdr.h.a8);
        md.x = a4.execute(hdr.h.a8);
        md.x = a5.execute(hdr.h.a8);
        md.x = a6.execute(hdr.h.a8);
        md.x = a7.execute(hdr.h.a8);
        md.x = a8.execute(hdr.h.a8);
        md.x = a9.execute(hdr.h.a8);
        md.x = a10.execute(hdr.h.a8);
        md.x = a11.execute(hdr.h.a8);
        a12.execute(hdr.h.a8);
    }
}

#include "after.p4"
