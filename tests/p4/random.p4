// random: any value between its bounds, both included. Its values differ between switches; the reported properties do not.
#include "include/data.p4"

control Work(inout data_t d, inout standard_metadata_t s) {
    action draw(in bit<16> low, in bit<16> high) {
        bit<16> value;
        random(value, low, high);
        d.x = value >= low && value <= high ? 16w1 : 0;
    }

    // So many draws from a range of two that both values occur, except once in 2^63 runs.
    action draw_often(in bit<16> low) {
        for (bit<16> i = 0; i < 64; i = i + 1) {
            bit<16> value;
            random(value, low, low + 1);
            d.x = d.x | 16w1 << (bit<8>)value;
        }
    }

    action draw_wide() {
        bit<48> wide;
        random(wide, 48w0x800000000000, 48w0xffffffffffff);
        d.x = 15w0 ++ wide[47:47];
    }

    apply {
        switch (d.op) {
            0: { draw(d.a, d.b); }
            1: { if (d.a >= d.b) { random(d.x, d.a, d.b); } }
            2: { d.x = 0; draw_often(7); }
            3: { draw_wide(); }
        }
    }
}

#include "include/shell.p4"
