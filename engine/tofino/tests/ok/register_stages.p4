/* Where registers can be. */
#include "before.p4"

control Eg(EGRESS) {
    Register<bit<32>, bit<17>>(94208) large;
    RegisterAction<bit<32>, bit<17>, bit<32>>(large) get_large = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value;
        }
    };
    Register<bit<32>, bit<8>>(256) r;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r) get = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value;
        }
    };
    action use() {
        md.x = get.execute(hdr.h.a8);
    }
    action prepare() {
        md.x = hdr.h.a;
    }
    table t {
        key = {
            hdr.h.b: exact;
        }
        actions = {
            use;
            prepare;
        }
        const default_action = prepare;
        size = 16;
    }

    apply {
        md.y = get_large.execute(17w1);
        switch (t.apply().action_run) {
            prepare: {
                hdr.h.a = get.execute(hdr.h.b8);
                hdr.h.c = md.x + 1;
            }
        }
    }
}

#include "after.p4"
