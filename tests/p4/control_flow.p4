// if, switch with fall-through, loops with break and continue, functions, return and exit, directions of parameters.
#include "include/data.p4"

bit<16> larger(in bit<16> left, in bit<16> right) {
    if (left > right) {
        return left;
    }
    return right;
}

void swap<T>(inout T left, inout T right) {
    T kept = left;
    left = right;
    right = kept;
}

control Add(inout bit<16> sum)(bit<16> step) {
    apply {
        if (sum == 0xffff) {
            return;
        }
        sum = sum + step;
    }
}

control Fill(out bit<16> filled, in bit<8> high, in bit<8> low) {
    apply {
        filled = high ++ low;
    }
}

control Work(inout data_t d, inout standard_metadata_t s) {
    Add(1) one;
    Add(10) ten;
    Fill() fill;

    action leave() {
        d.x = 0xdead;
        exit;
    }

    // In actions: p4c-bm2-ss 1.2.5 keeps only the body of loops in an apply block.
    action sum_but_two() {
        for (bit<16> i = 1; i <= 5; i = i + 1) {
            if (i == 2) {
                continue;
            }
            if (i == d.b) {
                break;
            }
            d.x = d.x + i;
        }
    }

    action count_up() {
        for (bit<16> i = 0, bit<16> step = 1; i < d.a; i = i + step) {
            d.x = d.x + 2;
        }
    }

    apply {
        switch (d.op) {
            0:
            1: { d.x = larger(d.a, d.b); }
            2: { swap(d.a, d.b); }
            3: { sum_but_two(); }
            4: { count_up(); }
            5: { leave(); d.x = 0; }
            6: { one.apply(d.x); ten.apply(d.x); }
            9: { fill.apply(d.x, 1, 2); }
            10: { fill.apply(d.x, 3, 4); }
            11: { fill.apply(d.x, 5, d.a[7:0]); }
            default: { d.x = 0xffff; }
        }
        d.x = d.x | 0x8000;
    }
}

#include "include/shell.p4"
