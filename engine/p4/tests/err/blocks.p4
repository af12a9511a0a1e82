#include <core.p4>

header h_t { bit<8> a; }
header two_t { varbit<8> a; varbit<8> b; }
header options_t { bit<8> len; varbit<320> data; }
struct s_t { bit<8> x; bit<16> y; }
extern void note(in bit<8> value);
control sub(inout bit<8> x) { apply { } }

parser stuck(packet_in b, out bit<8> x) { // E0546:8
    state start { transition loop; }
    state loop { transition loop; }
}

parser p(packet_in b, out h_t h, out h_t[2] stack, out options_t options, out s_t s, out two_t two) { // E0534:8
    bit<8> local;
    value_set<h_t>(4) headers; // E0448:15
    value_set<bit<8>>(4) bytes;
    action act() { } // E0532:12
    state first {
        b.extract(s); // E0443:19
        b.extract(options); // E0446:19
        b.extract(h, 32w8); // E0447:19
        b.extract(two, 32w8); // E0415:19
        b.lookahead<options_t>(); // E0445:9
        local = bytes; // E0516:17
        stack.push_front(1); // E0519:15
        return; // E0536:9
        switch (local) { default: { } } // E0536:9
        transition select(s) { // E0449:27
            default: accept;
        }
    }
    state second {
        transition select(s.x, s.y) {
            1: accept; // E0535:13
            (1, 2, 3): accept; // E0535:13
            (note(1), 2): accept; // E0515:14
            bytes: accept; // E0401:13
            (1, 2): second;
        }
    }
    state accept { transition second; } // E0533:11
}

control c(inout h_t h, inout s_t s, inout h_t[2] stack, inout bit<8>[2] array) {
    value_set<bit<8>>(4) bytes; // E0532:26
    action act() { sub.apply(s.x); } // E0514:20
    table t { actions = { act; } }
    apply {
        stack.next = h; // E0518:15
        s.x = array.lastIndex; // E0444:21
        stack.pop_front(s.x); // E0520:25
        verify(true, error.NoError); // E0518:9
        break; // E0537:9
        switch (s) { default: { } } // E0450:9
        switch (s.x) {
            default: { }
            1: { } // E0538:13
        }
        switch (s.x) {
            1: { }
            1: { } // E0539:13
            s.x: { } // E0409:13
        }
        for (bit<8> i in s.x) { } // E0451:26
        for (bit<16> i in array) { } // E0401:27
        return 1; // E0540:16
    }
}

parser parser_t();
control holder()(parser_t nested) { apply { } } // E0440:18

bit<8> calls(inout bit<8> x) {
    return x;
}

control d(inout bit<8> x) {
    action act() { }
    apply {
        act();
        calls(x);
    }
}

extern void ext(in bit<8> x);
void outside() {
    NoAction(); // E0513:5
}
