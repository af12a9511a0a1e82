#include <core.p4>

match_kind { range, optional }
struct s_t { bit<8> x; bit<16> y; bit<16> z; }

control c(inout s_t s, in bit<8> n) {
    action set(bit<8> v) { s.x = v; }
    action bound(inout bit<16> y, bit<8> v) { y = (bit<16>)v; }
    action other() { }

    table no_actions { // E0601:11
        key = { s.x: exact; }
    }
    table keys {
        key = {
            s: exact; // E0452:13
            s.x + 1: exact; // E0608:13
            keys: exact; // E0314:13
        }
        actions = { NoAction; }
    }
    table lists {
        key = { s.x: exact; }
        actions = {
            set;
            set; // E0307:13
            bound(s.y, 3); // E0606:24
            @defaultonly other;
        }
        default_action = 3; // E0603:26
    }
    table defaults {
        key = { s.x: exact; }
        actions = { bound(s.y); @tableonly other; set; }
        default_action = other(); // E0605:26
    }
    table again {
        actions = { bound(s.y); set; }
        default_action = bound(s.x, 1); // E0401:32
    }
    table elsewhere {
        actions = { bound(s.y); set; }
        default_action = bound(s.z, 1); // E0607:32
    }
    table differs {
        actions = { bound(s.y); set; }
        default_action = set(n); // E0508:30
    }
    table sets {
        key = { s.x: exact; s.y: ternary; n: range; }
        actions = { set; @defaultonly other; }
        const entries = {
            (1, 2, 3): set(1);
            (_, 2, 3): set(1); // E0610:14
            (1, 2 .. 3, 3): set(1); // E0610:17
            (1, 2, 3 &&& 4): set(1); // E0610:20
            (1, 2): set(1); // E0535:13
            (n, 2, 3): set(1); // E0409:14
            priority = 3: (1, 2, 3): set(1); // E0611:24
            (1, 2, 3): other(); // E0605:24
            (1, 2, 3): nothing(); // E0305:24
            (1, 2, 3): bound(s.y, 3); // E0602:24
        }
        size = true; // E0612:16
        priority_delta = 0; // E0612:26
        largest_priority_wins = 1; // E0612:33
    }
    table keyless {
        actions = { set; }
        entries = { 1: set(1); } // E0609:9
    }
    table order {
        default_action = set(1); // E0618:9
        actions = { set; }
        key = { s.x: exact; }
    }
    apply {
        switch (sets.apply().action_run) {
            missing: { } // E0602:13
            1: { } // E0604:13
        }
    }
}
