// Action profiles and action selectors: entries that point to members and to groups of members.
#include "include/data.p4"

control Work(inout data_t d, inout standard_metadata_t s) {
    action_profile(16) shared;
    action_selector(HashAlgorithm.identity, 16, 16) balanced;
    action_selector(HashAlgorithm.crc16, 16, 16) hashed;

    action set(bit<16> value) {
        d.x = value;
    }

    action send(bit<9> port, bit<16> value) {
        s.egress_spec = port;
        d.x = value;
    }

    // Two tables have the same members.
    table first {
        key = { d.a: exact; }
        actions = { set; send; NoAction; }
        implementation = shared;
    }

    table second {
        key = { d.a: ternary; d.b: lpm; }
        actions = { set; send; NoAction; }
        implementation = shared;
    }

    table chosen {
        key = { d.a: exact; d.b: selector; }
        actions = { set; send; }
        implementation = balanced;
    }

    table mixed {
        key = { d.a: exact; d.a: selector; d.b: selector; }
        actions = { set; send; }
        implementation = hashed;
    }

    apply {
        bool hit = false;
        switch (d.op) {
            // simple_switch ends at a member that another table shares, unless hit or miss determine the next step.
            0: { hit = first.apply().hit; }
            1: { hit = second.apply().hit; }
            2: { hit = chosen.apply().hit; }
            3: { mixed.apply(); }
        }
        if (hit) {
            d.op[7:7] = 1;
        }
    }
}

#include "include/shell.p4"
