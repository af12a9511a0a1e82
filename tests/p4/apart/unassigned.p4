// `out` parameters that nothing is assigned to: what the caller's variable holds afterwards is not defined, all else is.
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
            // Of the two calls one is made, and the other's argument stays as it is.
            0: { d.x = d.a == 5 ? two(d.a) : two(d.b); }
            // An operand that is not defined gives one of the two results.
            1: { d.x = unknown(d.a) != 1 || false ? 16w1 : 2; }
            2: { d.x = 3; leave(d.a); }
            // What is not called leaves its argument as it is.
            3: { d.x = true || unknown(d.a) == 0 ? 16w1 : 2; }
        }
    }
}

#include "../include/shell.p4"
