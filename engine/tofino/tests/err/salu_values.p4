/* Assignments of a RegisterAction: operations, values and where they can go. */
#include "before.p4"

control Eg(EGRESS) {
    Register<bit<32>, bit<8>>(256) r0;
    RegisterAction<bit<32>, bit<8>, void>(r0) a0 = {
        void apply(inout bit<32> value) {
            if (hdr.h.a == 0) {
                value = 1;
            } else if (value == 5) {
                value = 2;
            } else {
                value = value + 1; // E1007
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r1;
    RegisterAction<bit<32>, bit<8>, void>(r1) a1 = {
        void apply(inout bit<32> value) {
            value = 1;
            if (hdr.h.a == 0) {
                value = 2; // E1008
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r2;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r2) a2 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = 5;
            if (hdr.h.a == 0) {
                rv = 1; // E1008
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r3;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r3) a3 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (hdr.h.a > 5) {
                rv = 1;
            }
            if (value == 0) {
                rv = 2; // E1008
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r4;
    RegisterAction<bit<32>, bit<8>, void>(r4) a4 = {
        void apply(inout bit<32> value) {
            value = value + hdr.h.a + 1; // E1009
        }
    };
    Register<bit<32>, bit<8>>(256) r5;
    RegisterAction<bit<32>, bit<8>, void>(r5) a5 = {
        void apply(inout bit<32> value) {
            value = value * 3; // E1010
        }
    };
    Register<bit<32>, bit<8>>(256) r6;
    RegisterAction<bit<32>, bit<8>, void>(r6) a6 = {
        void apply(inout bit<32> value) {
            value = value << hdr.h.a8; // E1010
        }
    };
    Register<bit<32>, bit<8>>(256) r7;
    RegisterAction<bit<32>, bit<8>, void>(r7) a7 = {
        void apply(inout bit<32> value) {
            value = value >> 1; // E1010
        }
    };
    Register<bit<32>, bit<8>>(256) r8;
    RegisterAction<bit<32>, bit<8>, void>(r8) a8 = {
        void apply(inout bit<32> value) {
            value = hdr.h.a + hdr.h.b; // E1011
        }
    };
    Register<pair_t, bit<8>>(256) r9;
    RegisterAction<pair_t, bit<8>, void>(r9) a9 = {
        void apply(inout pair_t value) {
            value.low = value.low + value.high; // E1011
        }
    };
    Register<bit<32>, bit<8>>(256) r10;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r10) a10 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = hdr.h.a;
            if (hdr.h.a > value) {
                rv = rv + 1; // E1017
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r11;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r11) a11 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = (bit<32>)value[15:8]; // E1023
        }
    };
    Register<bit<64>, bit<8>>(256) r12;
    RegisterAction<bit<64>, bit<8>, void>(r12) a12 = {
        void apply(inout bit<64> value) {
            value = 1; // E1024
        }
    };
    Register<bit<32>, bit<8>>(256) r13;
    RegisterAction<bit<32>, bit<8>, void>(r13) a13 = {
        void apply(inout bit<32> value) {
            value = from_prsr.global_tstamp[47:0][31:0] + hdr.h.a; // E1011
        }
    };
    Register<bit<32>, bit<8>>(256) r14;
    RegisterAction<bit<32>, bit<8>, void>(r14) a14 = {
        void apply(inout bit<32> value) {
            hdr.h.b = value; // E1027
        }
    };
    Register<bit<32>, bit<8>>(256) r15;
    RegisterAction<bit<32>, bit<8>, void>(r15) a15 = {
        void apply(inout bit<32> value) {
            bit<32> local;
            if (value > 5) {
                local = hdr.h.a;
            } else {
                local = 1;
            }
            value = value + local; // E1028
        }
    };
    Register<bit<32>, bit<8>>(256) r16;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r16) a16 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (value == 0) {
                rv = value;
            } else {
                value = hdr.h.a;
                rv = value; // E1015
            }
        }
    };
    Register<pair_t, bit<8>>(256) r17;
    RegisterAction<pair_t, bit<8>, bit<32>>(r17) a17 = {
        void apply(inout pair_t value, out bit<32> rv) {
            rv = value.low - hdr.h.a; // E1016
        }
    };
    Register<pair_t, bit<8>>(256) r18;
    RegisterAction<pair_t, bit<8>, bit<32>>(r18) a18 = {
        void apply(inout pair_t value, out bit<32> rv) {
            if (value.low == 0) {
                rv = 3; // E1016
            }
        }
    };
    Register<pair_t, bit<8>>(256) r19;
    RegisterAction<pair_t, bit<8>, bit<32>>(r19) a19 = {
        void apply(inout pair_t value, out bit<32> rv) {
            if (value.low == 0) {
                rv = 1;
            } else {
                rv = value.high; // E1015
            }
        }
    };

    apply {
        a0.execute(hdr.h.a8);
        a1.execute(hdr.h.a8);
        md.x = a2.execute(hdr.h.a8);
        md.x = a3.execute(hdr.h.a8);
        a4.execute(hdr.h.a8);
        a5.execute(hdr.h.a8);
        a6.execute(hdr.h.a8);
        a7.execute(hdr.h.a8);
        a8.execute(hdr.h.a8);
        a9.execute(hdr.h.a8);
        md.x = a10.execute(hdr.h.a8);
        md.x = a11.execute(hdr.h.a8);
        a12.execute(hdr.h.a8);
        a13.execute(hdr.h.a8);
        a14.execute(hdr.h.a8);
        a15.execute(hdr.h.a8);
        md.x = a16.execute(hdr.h.a8);
        md.x = a17.execute(hdr.h.a8);
        md.x = a18.execute(hdr.h.a8);
        md.x = a19.execute(hdr.h.a8);
    }
}

#include "after.p4"
