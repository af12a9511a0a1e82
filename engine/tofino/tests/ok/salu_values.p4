/* Two values per word and a result, in the forms that there are. */
#include "before.p4"

control Eg(EGRESS) {
    Register<bit<32>, bit<8>>(256) r0;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r0) a0 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (hdr.h.a == 0) {
                value = 1;
            } else {
                value = value + 1;
            }
            rv = value;
        }
    };
    Register<bit<32>, bit<8>>(256) r1;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r1) a1 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = 0;
            if (hdr.h.a == 0) {
                rv = 1;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r2;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r2) a2 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (value == 0) {
                rv = 1;
            }
            if (value == 7) {
                rv = 2;
            }
        }
    };
    Register<bit<32>, bit<8>>(256) r3;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r3) a3 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            value = value |+| hdr.h.a;
            rv = value;
        }
    };
    Register<bit<32>, bit<8>>(256) r4;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r4) a4 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = hdr.h.a - value;
            value = hdr.h.a;
        }
    };
    Register<bit<32>, bit<8>>(256) r5;
    RegisterAction<bit<32>, bit<8>, void>(r5) a5 = {
        void apply(inout bit<32> value) {
            value = max(value, hdr.h.a);
        }
    };
    Register<bit<32>, bit<8>>(256) r6;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r6) a6 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            value = value & ~hdr.h.a;
            rv = ~hdr.h.a;
        }
    };
    Register<pair_t, bit<8>>(256) r7;
    RegisterAction<pair_t, bit<8>, bit<32>>(r7) a7 = {
        void apply(inout pair_t value, out bit<32> rv) {
            value.low = value.high;
            value.high = hdr.h.a;
            rv = value.low;
        }
    };
    Register<pair_t, bit<8>>(256) r8;
    RegisterAction<pair_t, bit<8>, bit<1>>(r8) a8 = {
        void apply(inout pair_t value, out bit<1> rv) {
            if (value.low == 0) {
                value.low = hdr.h.a;
                value.high = 1;
                rv = 1;
            } else if (hdr.h.a >= value.low) {
                value.high = value.high + 1;
                rv = 1;
            }
        }
    };
    Register<bit<8>, bit<8>>(256) r9;
    RegisterAction<bit<8>, bit<8>, bit<8>>(r9) a9 = {
        void apply(inout bit<8> value, out bit<8> rv) {
            rv = value;
            value = hdr.h.a8;
        }
    };
    Register<bit<32>, bit<8>>(256) r10;
    RegisterAction<bit<32>, bit<8>, bit<8>>(r10) a10 = {
        void apply(inout bit<32> value, out bit<8> rv) {
            rv = (bit<8>)value;
        }
    };
    Register<bit<32>, bit<8>>(256) r11;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r11) a11 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            bit<32> old = value;
            value = value + 1;
            rv = old;
        }
    };
    Register<bit<32>, bit<8>>(256) r12;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r12) a12 = {
        void apply(inout bit<32> value, out bit<32> rv) {
            if (hdr.h.a > value) {
                rv = hdr.h.a;
                return;
            }
            value = hdr.h.a;
        }
    };
    Register<bit<1>, bit<8>>(256) r13;
    RegisterAction<bit<1>, bit<8>, bit<1>>(r13) a13 = {
        void apply(inout bit<1> value, out bit<1> rv) {
            rv = value;
            value = 1;
        }
    };
    Register<bit<32>, bit<8>>(256) left;
    RegisterAction<bit<32>, bit<8>, void>(left) leave = {
        void apply(inout bit<32> value) {
            if (hdr.h.a > value) {
                value = 1;
                return;
            }
            value = 2;
        }
    };

    apply {
        leave.execute(hdr.h.a8);
        md.x = a0.execute(hdr.h.a8);
        md.x = a1.execute(hdr.h.a8);
        md.x = a2.execute(hdr.h.a8);
        md.x = a3.execute(hdr.h.a8);
        md.x = a4.execute(hdr.h.a8);
        a5.execute(hdr.h.a8);
        md.x = a6.execute(hdr.h.a8);
        md.x = a7.execute(hdr.h.a8);
        md.flag = a8.execute(hdr.h.a8);
        hdr.h.b8 = a9.execute(hdr.h.a8);
        hdr.h.b8 = a10.execute(hdr.h.a8);
        md.x = a11.execute(hdr.h.a8);
        md.x = a12.execute(hdr.h.a8);
        md.flag = a13.execute(hdr.h.a8);
    }
}

#include "after.p4"
