/* What all actions of a register share, and what its elements can be. */
#include "before.p4"

struct three_t {
    bit<16> a;
    bit<8> b;
}

control Eg(EGRESS) {
    Register<bit<12>, bit<8>>(256) odd;
    RegisterAction<bit<12>, bit<8>, void>(odd) odd_a = { // E1001
        void apply(inout bit<12> value) {
            value = 1;
        }
    };
    Register<three_t, bit<8>>(256) unequal;
    RegisterAction<three_t, bit<8>, void>(unequal) unequal_a = { // E1001
        void apply(inout three_t value) {
            value.a = 1;
        }
    };

    Register<bit<32>, bit<8>>(256) many;
    RegisterAction<bit<32>, bit<8>, void>(many) many1 = { void apply(inout bit<32> value) { value = 1; } };
    RegisterAction<bit<32>, bit<8>, void>(many) many2 = { void apply(inout bit<32> value) { value = 2; } };
    RegisterAction<bit<32>, bit<8>, void>(many) many3 = { void apply(inout bit<32> value) { value = 3; } };
    RegisterAction<bit<32>, bit<8>, void>(many) many4 = { void apply(inout bit<32> value) { value = 4; } };
    RegisterAction<bit<32>, bit<8>, void>(many) many5 = { void apply(inout bit<32> value) { value = 5; } }; // E1002

    Register<bit<32>, bit<8>>(256) rows;
    RegisterAction<bit<32>, bit<8>, void>(rows) rows1 = {
        void apply(inout bit<32> value) {
            if (value > 100) {
                value = 101;
            } else {
                value = 102;
            }
        }
    };
    RegisterAction<bit<32>, bit<8>, void>(rows) rows2 = {
        void apply(inout bit<32> value) {
            if (value > 8) {
                value = 103;
            } else {
                value = 9; // E1012
            }
        }
    };

    Register<bit<32>, bit<8>>(256) inputs;
    RegisterAction<bit<32>, bit<8>, void>(inputs) inputs1 = {
        void apply(inout bit<32> value) {
            if (value > hdr.h.a) {
                value = hdr.h.b;
            }
        }
    };
    RegisterAction<bit<32>, bit<8>, void>(inputs) inputs2 = {
        void apply(inout bit<32> value) {
            value = hdr.h.c; // E1013
        }
    };

    Register<bit<1>, bit<8>>(256) bits;
    RegisterAction<bit<1>, bit<8>, bit<1>>(bits) bits1 = {
        void apply(inout bit<1> value, out bit<1> rv) {
            rv = value;
            value = hdr.h.a[0:0]; // E1018
        }
    };
    RegisterAction<bit<1>, bit<8>, bit<1>>(bits) bits2 = {
        void apply(inout bit<1> value, out bit<1> rv) {
            if (hdr.h.a == 0) { // E1018
                value = 1; // E1018
            }
        }
    };

    MathUnit<bit<32>>(MathOp_t.MUL, 1, 2) half;
    MathUnit<bit<32>>(MathOp_t.DIV, 1000) inverse;
    Register<pair_t, bit<8>>(256) maths;
    RegisterAction<pair_t, bit<8>, void>(maths) maths1 = {
        void apply(inout pair_t value) {
            value.low = half.execute(value.low);
            value.high = half.execute(value.high); // E1022
        }
    };
    RegisterAction<pair_t, bit<8>, void>(maths) maths2 = {
        void apply(inout pair_t value) {
            value.low = value.high + inverse.execute(hdr.h.a); // E1021
        }
    };

    Register<bit<8>, bit<8>>(256) narrow;
    RegisterAction<bit<8>, bit<8>, void>(narrow) narrow1 = {
        void apply(inout bit<8> value) {
            if (hdr.h.a16 > 5) { // E1014
                value = 1;
            }
        }
    };

    apply {
        if (hdr.h.b8 == 0) {
            odd_a.execute(hdr.h.a8);
            unequal_a.execute(hdr.h.a8);
            many1.execute(hdr.h.a8);
            rows1.execute(hdr.h.a8);
            inputs1.execute(hdr.h.a8);
            md.flag = bits1.execute(hdr.h.a8);
            maths1.execute(hdr.h.a8);
            narrow1.execute(hdr.h.a8);
        } else if (hdr.h.b8 == 1) {
            many2.execute(hdr.h.a8);
            rows2.execute(hdr.h.a8);
            inputs2.execute(hdr.h.a8);
            md.flag = bits2.execute(hdr.h.a8);
            maths2.execute(hdr.h.a8);
        } else if (hdr.h.b8 == 2) {
            many3.execute(hdr.h.a8);
        } else if (hdr.h.b8 == 3) {
            many4.execute(hdr.h.a8);
        } else {
            many5.execute(hdr.h.a8);
        }
    }
}

#include "after.p4"
