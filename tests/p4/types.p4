// Enums, typedef and new types, structs and tuples, generic structs and functions, constants, static_assert, headers as
// values.
#include "include/data.p4"

typedef bit<16> word_t;
type bit<16> label_t;

enum colour_t {
    RED,
    GREEN,
    BLUE
}

enum bit<16> ether_t {
    IPV4 = 0x0800,
    IPV6 = 0x86dd
}

struct pair_t<T> {
    T first;
    T second;
}

const word_t BASE = 0x0100;
const bit<16> MASK = (1 << 4) - 1;
const bool CHECKED = static_assert(MASK == 15, "four bits");

T other<T>(in pair_t<T> pair) {
    return pair.second;
}

control Work(inout data_t d, inout standard_metadata_t s) {
    apply {
        colour_t colour = colour_t.RED;
        switch (d.op) {
            0: {
                colour = d.a == 1 ? colour_t.GREEN : colour_t.BLUE;
                d.x = colour == colour_t.GREEN ? 16w1 : 2;
            }
            1: {
                ether_t ether = (ether_t)d.a;
                d.x = ether == ether_t.IPV6 ? 16w6 : (ether == ether_t.IPV4 ? 16w4 : 0);
            }
            2: { d.x = BASE + MASK; }
            3: {
                pair_t<word_t> pair = { first = d.a, second = d.b };
                d.x = other(pair);
            }
            4: {
                tuple<word_t, word_t> both = { d.a, d.b };
                d.x = both[1];
            }
            5: {
                label_t label = (label_t)d.a;
                d.x = (word_t)label;
            }
            6: {
                pair_t<word_t> one = { d.a, d.b };
                pair_t<word_t> two = { d.b, d.a };
                d.x = one == two ? 16w1 : 0;
            }
            7: {
                data_t copy = d;
                copy.a = 0;
                d.x = copy.a == d.a && copy == d ? 16w1 : 0;
            }
            8: {
                data_t made;
                made.setValid();
                made = { 8, 1, 2, 3 };
                d = made;
            }
            9: { d.setInvalid(); }
        }
    }
}

#include "include/shell.p4"
