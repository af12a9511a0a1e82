/* As many comparisons as there are, in the forms that there are. */
#include "before.p4"

control Eg(EGRESS) {
    Register<bit<32>, bit<8>>(256) r0;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r0) a0 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (value == 1) {
                rv = 1;
            } else if (value > hdr.h.a) {
                rv = 1;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r1;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r1) a1 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            // One unit suffices for a comparison and its complement.
            if (value > 5 && hdr.h.a > value) {
                rv = 1;
            } else if (value <= 5) {
                value = 0;
            }
        }
    };
    Register<pair_t, bit<8>>(256) r2;
    RegisterAction<pair_t, bit<8>, bit<32>>(r2) a2 = {
        void apply(inout pair_t value, out bit<32> rv) {
            if (value.low > hdr.h.a) {
                rv = 1;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r3;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r3) a3 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (hdr.h.a > 5) {
                rv = 1;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r4;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r4) a4 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value;
            if (value > hdr.h.a) {
                value = hdr.h.a;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r5;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r5) a5 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (from_prsr.global_tstamp[37:6] > value) {
                rv = 1;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r6;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r6) a6 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (value > 0x80000000) {
                rv = 1;
            }
        }
    };
    Register<int<32>, bit<8>>(256) r7;
    RegisterAction<int<32>, bit<8>, bit<32>>(r7) a7 = {
        void apply(inout int<32> value, out bit<32> rv) {
            if ((int<32>)hdr.h.a - value > 0) {
                rv = 1;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r8;
    RegisterAction<bit<32>, bit<8>, bool>(r8) a8 = {
        void apply(inout bit<32> value, out bool rv) {
            rv = value > hdr.h.a && md.yes;
        }
    };
    Register<bit<32>, bit<8>>(256) r9;
    RegisterAction<bit<32>, bit<8>, void>(r9) a9 = {
        void apply(inout bit<32> value) {
            bit<32> limit = hdr.h.a;
            if (value >= limit) {
                value = limit;
            }
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
        md.yes = a8.execute(hdr.h.a8);
        a9.execute(hdr.h.a8);
    }
}

#include "after.p4"
