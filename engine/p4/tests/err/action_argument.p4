// An argument in a list of actions cannot apply a table.
#include <core.p4>

control Case(inout bit<8> x) {
    action set(in bit<8> to) { x = to; }
    table first {
        key = { x: exact; }
        actions = { NoAction; }
    }
    table second {
        key = { x: exact; }
        actions = {
            set(first.apply().hit ? 8w1 : 8w2); // E0514:17
            NoAction;
        }
        default_action = NoAction;
    }
    apply { second.apply(); }
}
