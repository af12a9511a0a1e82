/* A packet has one access to each register. */
#include "before.p4"

Register<bit<32>, bit<8>>(256) common;

control Ig(INGRESS) {
    RegisterAction<bit<32>, bit<8>, bit<32>>(common) read_common = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value;
        }
    };

    apply {
        md.x = read_common.execute(hdr.h.a8);
    }
}
#define HAS_INGRESS

control Eg(EGRESS) {
    RegisterAction<bit<32>, bit<8>, bit<32>>(common) write_common = {
        void apply(inout bit<32> value) {
            value = hdr.h.a;
        }
    };

    Register<bit<32>, bit<8>>(256) r;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r) get = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value;
        }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(r) put = {
        void apply(inout bit<32> value) {
            value = hdr.h.a;
        }
    };

    Register<bit<32>, bit<8>>(256) once;
    RegisterAction<bit<32>, bit<8>, bit<32>>(once) get_once = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value;
        }
    };
    Register<bit<16>, bit<8>>(256) narrow;
    RegisterAction<bit<16>, bit<8>, bit<16>>(narrow) get_narrow = {
        void apply(inout bit<16> value, out bit<16> rv) {
            rv = value;
        }
    };
    action twice() {
        md.x = get_once.execute(hdr.h.a8);
        md.y = get_once.execute(hdr.h.a8); // E1101
    }
    action both() {
        md.x = get_once.execute(hdr.h.a8);
        hdr.h.a16 = get_narrow.execute(hdr.h.a8); // E1107
    }
    action otherwise() {
        md.x = get_once.execute(hdr.h.b8); // E1105
    }
    table t {
        key = {
            hdr.h.b: exact;
        }
        actions = {
            twice;
            both;
            otherwise;
            NoAction;
        }
        default_action = NoAction;
        size = 16;
    }

    Register<bit<32>, bit<8>>(256) indexed;
    RegisterAction<bit<32>, bit<8>, bit<32>>(indexed) get_indexed = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value;
        }
    };

    Register<bit<32>, bit<8>>(256) after_hit;
    RegisterAction<bit<32>, bit<8>, bit<32>>(after_hit) get_after_hit = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value;
        }
    };
    action use_on_hit(bit<8> index) {
        md.x = get_after_hit.execute(index);
    }
    table may_hit {
        key = {
            hdr.h.c: exact;
        }
        actions = {
            use_on_hit;
            NoAction;
        }
        const default_action = NoAction;
        size = 16;
    }

    apply {
        write_common.execute(hdr.h.a8); // E1103
        md.x = get.execute(hdr.h.a8);
        if (md.x == 0) {
            put.execute(hdr.h.a8); // E1102
        }
        t.apply();
        if (may_hit.apply().hit) {
            md.y = get_after_hit.execute(hdr.h.b8); // E1102
        }
        md.y = get_indexed.execute(hdr.h.a8 + 1); // E1104
    }
}

#include "after.p4"
