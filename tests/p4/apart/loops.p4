// `for` loops in an `apply` block and in a function that is called there.
#include "../include/data.p4"

bit<16> sum_up_to(in bit<16> last) {
    bit<16> sum = 0;
    for (bit<16> i = 1; i <= last; i = i + 1) {
        sum = sum + i;
    }
    return sum;
}

control Work(inout data_t d, inout standard_metadata_t s) {
    apply {
        bit<3> narrow = 2;
        switch (d.op) {
            // The body changes the counter as well: 0, 2, 4, 6.
            0: { for (bit<8> i = 0; i < 8; i = i + 1) { i = i + 1; d.x = d.x + 1; } }
            // The counter wraps: 0, 3, 6, 1, 4, and 7 ends it.
            1: {
                for (narrow = 0; narrow < 7; narrow = narrow + 3) { d.x = d.x + (bit<16>)narrow; }
                d.a = (bit<16>)narrow;
            }
            // The condition does not hold at first.
            2: { for (narrow = 5; narrow < 5; narrow = narrow + 1) { d.x = d.x + 1; } d.a = (bit<16>)narrow; }
            3: { for (bit<16> i = 0; i < 9; i = i + 1) { if (i == d.a) { break; } d.x = i; } }
            4: { for (bit<16> i = 0; i < 9; i = i + 1) { if (i > d.a) { continue; } d.x = i; } }
            5: { d.x = sum_up_to(d.a); }
        }
    }
}

#include "../include/shell.p4"
