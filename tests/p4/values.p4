// Values: literals and constants of any size, bool, casts, implicit ones too, assignments with an operation, slices that
// are assigned to, initializers with and without names, comparison of structures, errors and enums as values, sizes.
#include "include/data.p4"

error {
    Odd
}

enum bit<8> kind_t {
    PLAIN = 1,
    SPECIAL = 0x80
}

header serial_t {
    kind_t kind;
    bool   flag;
    int<7> low;
}

struct inner_t {
    bit<8>  a;
    bit<16> b;
}

struct outer_t {
    inner_t inner;
    bool    set;
    bit<4>  c;
}

const int BIG = 1 << 100;
const bit<16> FROM_BIG = (bit<16>)(BIG >> 96);
const int<8> NEGATIVE = -8s100 - 50;
const outer_t START = { inner = { a = 1, b = 0x0203 }, set = true, c = 4 };
const tuple<bit<8>, bool> PAIR = { 7, true };

bit<16> of(in error problem) {
    return problem == error.Odd ? 16w1 : (problem == error.NoMatch ? 16w2 : 0);
}

control Work(inout data_t d, inout standard_metadata_t s) {
    apply {
        outer_t state = START;
        serial_t serial;
        bool odd = (bool)d.a[0:0];
        switch (d.op) {
            // 16; 0x6a, for -150 wraps
            0: { d.x = FROM_BIG; d.b = 8w0 ++ (bit<8>)NEGATIVE; }
            1: { d.x = 0b1010_0101 + 0o17 + 8w0x0f ++ 8w0; }
            2: { d.x = (bit<16>)(bit<1>)(odd != (d.b == 1) || !(d.a > 3 && d.b < 7)); }
            3: { d.x += d.a; d.x -= 1; d.x *= 2; d.x |= 0x8000; d.x ^= d.b; d.x &= 0xff0f; }
            4: { d.x <<= 4; d.x >>= 2; d.x |+|= d.a; d.x |-|= d.b; }
            5: { d.x[15:12] = d.a[3:0]; d.x[3:0] |= 0x9; d.x[7:4] = d.b[15:12] + 1; }
            6: { d.x = d.a << 16; d.b = (bit<16>)((int<16>)d.b >> 20); }
            7: { d.x = 16w1 << (bit<8>)d.a; d.b = d.b >> (bit<8>)d.a; }
            8: { state.inner = { d.a[7:0], d.b }; d.x = state.inner.b + (bit<16>)state.c + (bit<16>)state.inner.a; }
            9: { d.x = state == (outer_t){ inner = (inner_t){ a = d.a[7:0], b = d.b }, set = true, c = 4 } ? 16w1 : 0; }
            10: { d.x = { d.a, d.b } == { 16w1, 16w2 } && PAIR[1] ? (bit<16>)PAIR[0] : 0; }
            11: { d.x = of(odd ? error.Odd : error.NoMatch); }
            12: {
                serial.setValid();
                serial = { kind_t.SPECIAL, odd, -1 };
                d.x = (bit<8>)serial.kind ++ (bit<1>)serial.flag ++ (bit<7>)serial.low;
            }
            13: { d.x = (bit<16>)(d.minSizeInBytes() + d.minSizeInBits()); }
            14: { d = { 14, 1, ... }; }
            15: { serial = (serial_t){#}; d.x = serial.isValid() ? 16w1 : 2; }
            16: { d.x = d.a == 1 ? 16w1 : (d.a == 2 ? 16w2 : (d.b == 3 ? 16w3 : 4)); }
            17: { d.x = ((bit<32>)d.a * (bit<32>)d.b)[31:16]; }
            18: { d.x = (bit<16>)(int<16>)(int<4>)d.a[3:0] + (bit<16>)(bit<4>)(int<4>)-1; }
            // Conditionals group to the left.
            19: {
                bool chosen = odd ? (bool)d.a[1:1] : (bool)d.a[2:2] ? (bool)d.a[3:3] : (bool)d.a[4:4];
                d.x = (bit<16>)(bit<1>)chosen;
            }
        }
    }
}

#include "include/shell.p4"
