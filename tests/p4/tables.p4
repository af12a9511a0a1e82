// Match kinds, priorities, hit and miss, the action that ran, default actions, entries in the source.
#include "include/data.p4"

control Work(inout data_t d, inout standard_metadata_t s) {
    action set(bit<16> value) {
        d.x = value;
    }

    action twice(bit<8> high, bit<8> low) {
        d.x = high ++ low;
    }

    table exacts {
        key = { d.a: exact; d.b: exact; }
        actions = { set; twice; NoAction; }
        default_action = set(0xeeee);
    }

    // A separate table for hit and one for action_run: BMv2 applies a table in only one place.
    table tried {
        key = { d.a: exact; d.b: exact; }
        actions = { set; twice; NoAction; }
        default_action = set(0xeeee);
    }

    table chosen {
        key = { d.a: exact; d.b: exact; }
        actions = { set; twice; NoAction; }
        default_action = set(0xeeee);
    }

    table prefixes {
        key = { d.a: lpm; }
        actions = { set; NoAction; }
        default_action = NoAction();
    }

    table masks {
        key = { d.a: ternary; d.b: ternary; }
        actions = { set; NoAction; }
        size = 8;
    }

    table ranges {
        key = { d.a: range; }
        actions = { set; NoAction; }
    }

    table options {
        key = { d.a: optional; d.b: optional; }
        actions = { set; NoAction; }
    }

    table written {
        key = { d.a: ternary; }
        actions = { set; NoAction; }
        const default_action = set(0xdddd);
        const entries = {
            0x1200 &&& 0xff00: set(1);
            0x1234: set(2);
            0x5600 &&& 0xff00: set(4) @priority(9);
            0x5678: set(3) @priority(1);
            _: NoAction() @priority(20);
        }
    }

    table valid {
        key = { d.isValid(): exact; d.a[3:0]: exact @name("low"); }
        actions = { set; NoAction; }
    }

    table keyless {
        actions = { set; }
        default_action = set(0xcccc);
    }

    apply {
        switch (d.op) {
            0: { exacts.apply(); }
            1: { prefixes.apply(); }
            2: { masks.apply(); }
            3: { ranges.apply(); }
            4: { options.apply(); }
            5: { written.apply(); }
            6: { valid.apply(); }
            7: { keyless.apply(); }
            8: {
                if (tried.apply().hit) {
                    d.b = 1;
                } else {
                    d.b = 0;
                }
            }
            9: {
                switch (chosen.apply().action_run) {
                    set: { d.b = 1; }
                    twice: { d.b = 2; }
                    default: { d.b = 3; }
                }
            }
        }
    }
}

#include "include/shell.p4"
