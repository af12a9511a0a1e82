// Annotations: those with a meaning (@name, @hidden, @tableonly, @defaultonly, @priority, @field_list elsewhere), structured
// ones, those with arbitrary content, and pragmas; also macros and conditional sources.
#define V1MODEL_VERSION 20200408
#include "include/data.p4"

#define BUMP(field, by) field = field + by
#if V1MODEL_VERSION >= 20200408 && !defined(UNKNOWN)
#define STEP 1
#else
#error "the newer model"
#endif

@deprecated("use nothing")
@pure
bit<16> unused(in bit<16> value) {
    return value;
}

@name("cell_of_its_own") register<bit<16>, bit<8>>(4) cells;

@my_note[text = "structured", number = 3, yes = true]
@my_list[1, 2, "three"]
@anything(goes <in> "here", 5 + (6))
control Work(inout data_t d, inout standard_metadata_t s) {
    @name("by_index") counter<bit<8>>(4, CounterType.packets) counted;

    @name("store") action put(@name("what") bit<16> value) {
        d.x = value;
    }

    @hidden
    action hidden() {
        BUMP(d.x, STEP);
    }

    action lost() {
        d.x = 0xdddd;
    }

    @name(".flat")
    @pragma with words until the end
    table chosen {
        key = {
            d.a       : exact @name("first");
            d.b[7:0]  : ternary @name("low_byte") @refers_to(nothing, at_all);
        }
        actions = {
            @tableonly put;
            @defaultonly lost;
        }
        default_action = lost();
        size = 4;
    }

    apply {
        @atomic {
            switch (d.op) {
                0: { chosen.apply(); }
                1: { hidden(); }
                2: { cells.write(d.a[7:0], d.b); counted.count(d.a[7:0]); }
                3: { cells.read(d.x, d.a[7:0]); }
                4: { s.egress_spec = (PortId_t)d.a[8:0]; }
            }
        }
    }
}

#include "include/shell.p4"
