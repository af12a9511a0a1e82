/* What tables have at their sides. */
#include "before.p4"

control Eg(EGRESS) {
    Counter<bit<64>, bit<8>>(256, CounterType_t.PACKETS) one;
    Counter<bit<64>, bit<8>>(256, CounterType_t.PACKETS) other;
    action count_one() {
        one.count(hdr.h.a8); // E1106
    }
    action count_other() {
        other.count(hdr.h.a8); // E1106
    }
    table counters {
        key = {
            hdr.h.a: exact;
        }
        actions = {
            count_one;
            count_other;
            NoAction;
        }
        default_action = NoAction;
        size = 16;
    }

    Meter<bit<8>>(256, MeterType_t.BYTES) meter;
    Register<bit<32>, bit<8>>(256) reg;
    RegisterAction<bit<32>, bit<8>, bit<32>>(reg) get = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value;
        }
    };
    action both() {
        md.x = get.execute(hdr.h.a8);
        hdr.h.b8 = meter.execute(hdr.h.a8); // E1107
    }
    table mixed {
        key = {
            hdr.h.b: exact;
        }
        actions = {
            both;
            NoAction;
        }
        default_action = NoAction;
        size = 16;
    }

    Counter<bit<64>, bit<8>>(256, CounterType_t.PACKETS) third;
    Counter<bit<64>, bit<8>>(256, CounterType_t.PACKETS) fourth;
    action two_indices() {
        third.count(hdr.h.a8);
        fourth.count(hdr.h.b8); // E1105
    }
    table indices {
        key = {
            hdr.h.c: exact;
        }
        actions = {
            two_indices;
            NoAction;
        }
        default_action = NoAction;
        size = 16;
    }

    DirectCounter<bit<64>>(CounterType_t.PACKETS) direct;
    action counts() {
        direct.count(); // E1108
    }
    action counts_not() {
        md.y = 1;
    }
    table directly {
        key = {
            hdr.h.d: exact;
        }
        actions = {
            counts;
            counts_not;
        }
        default_action = counts_not;
        counters = direct;
        size = 16;
    }

    Register<bit<32>, bit<8>>(256) keyless;
    RegisterAction<bit<32>, bit<8>, bit<32>>(keyless) get_keyless = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value;
        }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(keyless) put_keyless = {
        void apply(inout bit<32> value) {
            value = hdr.h.a;
        }
    };
    action get_it() {
        hdr.h.a = get_keyless.execute(hdr.h.a8); // E1108 E1412
    }
    action put_it() {
        put_keyless.execute(hdr.h.a8); // E1412
    }
    table without_key {
        actions = {
            get_it;
            put_it;
        }
        default_action = get_it;
    }

    apply {
        counters.apply();
        mixed.apply();
        indices.apply();
        directly.apply();
        without_key.apply();
    }
}

#include "after.p4"
