// `out` parameters without an assignment: the caller's variable is undefined afterwards, everything else is defined.
#include "../include/data.p4"

bit<16> two(out bit<16> left_open) {
    return 2;
}

bit<16> unknown(out bit<16> left_open) {
    return left_open;
}

control Work(inout data_t d, inout standard_metadata_t s) {
    action leave(out bit<16> left_open) {}

    apply {
        switch (d.op) {
            // One of the two calls is made, and the other's argument does not change.
            0: { d.x = d.a == 5 ? two(d.a) : two(d.b); }
            // An undefined operand gives one of the two results.
            1: { d.x = unknown(d.a) != 1 || false ? 16w1 : 2; }
            2: { d.x = 3; leave(d.a); }
            // A call that is not made does not change its argument.
            3: { d.x = true || unknown(d.a) == 0 ? 16w1 : 2; }
        }
    }
}

#include "../include/shell.p4"
