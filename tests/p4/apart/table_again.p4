// Tables that are applied at several places: one after the other, and in branches with different continuations.
#include "../include/data.p4"

control Work(inout data_t d, inout standard_metadata_t s) {
    action add(bit<16> value) {
        d.a = d.a + value;
    }

    table twice {
        key = { d.a: exact; }
        actions = { add; NoAction; }
        default_action = NoAction;
        const entries = {
            1: add(1);
            2: add(2);
        }
    }

    table in_branches {
        key = { d.a: exact; }
        actions = { add; NoAction; }
        default_action = NoAction;
        const entries = {
            1: add(0x10);
        }
    }

    apply {
        switch (d.op) {
            0: { twice.apply(); twice.apply(); }
            1: { if (twice.apply().hit) { d.x = 1; twice.apply(); } }
            2: { if (d.b == 0) { in_branches.apply(); d.x = 2; } else { in_branches.apply(); d.x = 3; } }
        }
    }
}

#include "../include/shell.p4"
