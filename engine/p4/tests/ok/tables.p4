// Tables: match kinds, entries and their priorities, properties, results.
#include "include/frame.p4"

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<8>>(MeterType.bytes) rate;
    action_selector(HashAlgorithm.crc16, 128, 10) ways;
    action_profile(64) shared;

    action set(bit<16> value) { meta.x = value; }
    action metered(bit<16> value) {
        hits.count();
        rate.read(meta.y);
        meta.x = value;
    }
    action drop() { mark_to_drop(std); }

    @name("everything")
    table kinds {
        key = {
            hdr.h.a: exact;
            hdr.h.b & 0xf: ternary @name("low");
            hdr.h.c: range;
            std.ingress_port: optional;
            hdr.s[0].isValid(): exact;
        }
        actions = { set; drop; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (1, 2, 3 .. 9, _, true): set(1);
            (1, 0 &&& 1, default, 4, false): drop();
            (7, _, 5, _, true): set(3) @priority(1);
        }
        size = 16;
    }
    table prioritized {
        key = { hdr.h.a: ternary; }
        actions = { set; }
        largest_priority_wins = false;
        priority_delta = 10;
        entries = {
            const priority = 30: 1: set(1);
            2: set(2);
            priority = 5: 3 &&& 7: set(3);
        }
    }
    table longest {
        key = { hdr.h.c: lpm; }
        actions = { metered; }
        counters = hits;
        meters = rate;
        default_action = metered(4);
        entries = {
            0x1200 &&& 0xff00: metered(1);
            0x1234: metered(2);
            _: metered(3);
        }
    }
    table selected {
        key = { hdr.h.a: exact; hdr.h.b: selector; hdr.h.c: selector; }
        actions = { set; drop; }
        implementation = ways;
    }
    table profiled {
        key = { hdr.h.a: exact; }
        actions = { set; }
        implementation = shared;
    }
    table constant {
        actions = { set; }
        const default_action = set(5);
    }
    apply {
        switch (kinds.apply().action_run) {
            set: { meta.y = 1; }
            drop:
            NoAction: { meta.y = 2; }
        }
        if (prioritized.apply().hit && !longest.apply().miss) {
            selected.apply();
        }
        bool missed = profiled.apply().miss;
        if (missed) {
            constant.apply();
        }
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
