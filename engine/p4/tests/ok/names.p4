// Control-plane names.
#include "include/frame.p4"

@name(".top_level")
action outside() { }

control Inner(inout bit<8> value)(bit<8> step) {
    @name("plus")
    action add() { value = value + step; }
    @name(".absolute")
    action reset() { value = 0; }
    @name("change") @hidden
    table changes {
        key = {
            value: exact @name("present");
            value[3:0]: exact;
        }
        actions = { add; reset; outside; }
    }
    register<bit<8>>(1) state;
    apply {
        changes.apply();
        state.write(0, value);
    }
}
control Plain(inout bit<8> value) {
    action double() { value = value << 1; }
    table doubles { actions = { double; } default_action = double(); }
    apply { doubles.apply(); }
}
@name("renamed")
control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Inner(1) one;
    @name("second") Inner(2) two;
    apply {
        one.apply(hdr.h.a);
        two.apply(hdr.h.b);
        Plain.apply(hdr.h.b);
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
