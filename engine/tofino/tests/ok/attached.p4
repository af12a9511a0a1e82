/* Objects of one table that share an address. */
#include "before.p4"

control Eg(EGRESS) {
    Counter<bit<64>, bit<8>>(256, CounterType_t.PACKETS) one;
    Counter<bit<64>, bit<8>>(256, CounterType_t.PACKETS) other;
    Meter<bit<8>>(256, MeterType_t.BYTES) meter;
    action count_both() {
        one.count(hdr.h.a8);
        other.count(hdr.h.a8);
        hdr.h.b8 = meter.execute(hdr.h.b8);
    }
    action by_entry(bit<8> index) {
        one.count(index);
        other.count(index);
        hdr.h.b8 = meter.execute(index);
    }
    table counters {
        key = {
            hdr.h.a: exact;
        }
        actions = {
            count_both;
            by_entry;
            NoAction;
        }
        default_action = NoAction;
        size = 16;
    }

    Counter<bit<64>, bit<8>>(256, CounterType_t.PACKETS) hits;
    Counter<bit<64>, bit<8>>(256, CounterType_t.PACKETS) misses;
    action count_hit(bit<8> index) {
        hits.count(index);
        misses.count(index);
    }
    action count_miss() {
        misses.count(0);
    }
    table on_miss {
        key = {
            hdr.h.b: exact;
        }
        actions = {
            count_hit;
            @defaultonly count_miss;
        }
        const default_action = count_miss;
        size = 16;
    }

    DirectCounter<bit<64>>(CounterType_t.PACKETS) direct;
    action counts() {
        direct.count();
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
            @defaultonly counts_not;
        }
        const default_action = counts_not;
        counters = direct;
        size = 16;
    }

    Register<bit<32>, bit<8>>(256) reg;
    RegisterAction<bit<32>, bit<8>, bit<32>>(reg) get = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value;
        }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(reg) put = {
        void apply(inout bit<32> value) {
            value = hdr.h.b;
        }
    };
    action get_it() {
        md.x = get.execute(hdr.h.a8);
    }
    action put_it() {
        put.execute(hdr.h.a8);
    }
    table with_key {
        key = {
            hdr.h.c: exact;
        }
        actions = {
            get_it;
            put_it;
            NoAction;
        }
        default_action = NoAction;
        size = 16;
    }
    table alone {
        actions = {
            get_it;
        }
        default_action = get_it;
    }

    apply {
        counters.apply();
        on_miss.apply();
        directly.apply();
        if (hdr.h.c16 == 0) {
            with_key.apply();
        } else {
            alone.apply();
        }
    }
}

#include "after.p4"
