// Entries in the source for every match kind, constant or not, and their precedence: the first, by @priority, or by
// `priority`, where the larger wins unless the table declares otherwise.
#include "include/data.p4"

control Work(inout data_t d, inout standard_metadata_t s) {
    action set(bit<16> value) {
        d.x = value;
    }

    action drop() {
        mark_to_drop(s);
    }

    table exacts {
        key = { d.a: exact; d.b: exact; }
        actions = { set; drop; }
        const default_action = set(0xffff);
        const entries = {
            (1, 2): set(1);
            (1, 3): set(2);
            (2, 2): drop();
        }
    }

    table prefixes {
        key = { d.a: lpm; }
        actions = { set; }
        default_action = set(0xffff);
        const entries = {
            0x1200 &&& 0xff00: set(8);
            0x1230 &&& 0xfff0: set(12);
            0x1234: set(16);
            _: set(0);
        }
    }

    table ranges {
        key = { d.a: range; d.b: ternary; }
        actions = { set; }
        default_action = set(0xffff);
        const entries = {
            (0 .. 9, _): set(1);
            (5 .. 14, 1): set(2);
            (5 .. 14, 0 &&& 1): set(3);
            (15, default): set(4);
        }
    }

    table options {
        key = { d.a: optional; d.b: optional; }
        actions = { set; }
        default_action = set(0xffff);
        const entries = {
            (1, 2): set(1);
            (1, _): set(2);
            (_, 2): set(3);
        }
    }

    // Not constant in P4, but simple_switch does not allow changes of entries in the source.
    table smallest {
        key = { d.a: ternary; }
        actions = { set; }
        default_action = set(0xffff);
        largest_priority_wins = false;
        entries = {
            priority = 30: 0x0100 &&& 0xff00: set(1);
            priority = 10: 0x0001 &&& 0x00ff: set(2);
            const priority = 20: 0x0000 &&& 0x0000: set(3);
        }
    }

    table largest {
        key = { d.a: ternary; }
        actions = { set; }
        default_action = set(0xffff);
        priority_delta = 10;
        entries = {
            priority = 200: 0x0100 &&& 0xff00: set(1);
            // One more delta below the one before: 190.
            0x0001 &&& 0x00ff: set(2);
            priority = 300: 0x0202: set(3);
        }
    }

    // The first entry, not the longest prefix, because there is a range key.
    table prefixes_and_ranges {
        key = { d.a: lpm; d.b: range; }
        actions = { set; }
        default_action = set(0xffff);
        const entries = {
            (0x1200 &&& 0xff00, 1 .. 8): set(1);
            (0x1230 &&& 0xfff0, _): set(2);
            (_, 7): set(3);
        }
    }

    apply {
        switch (d.op) {
            0: { exacts.apply(); }
            1: { prefixes.apply(); }
            2: { ranges.apply(); }
            3: { options.apply(); }
            4: { smallest.apply(); }
            5: { largest.apply(); }
            6: { prefixes_and_ranges.apply(); }
        }
    }
}

#include "include/shell.p4"
