// Loops over a range. p4c-bm2-ss supports only other loops.
#include "include/data.p4"

control Work(inout data_t d, inout standard_metadata_t s) {
    apply {
        for (bit<16> i in 1 .. 5) {
            if (i == d.a) {
                continue;
            }
            if (i == d.b) {
                break;
            }
            d.x = d.x + i;
        }
    }
}

#include "include/shell.p4"
