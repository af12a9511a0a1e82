// Objects that the control plane fills: tables, action profiles and selectors, meters and counters.
#include <core.p4>
#include <tna.p4>

header data_t {
    bit<8> kind;
    bit<16> key;
    bit<8> result;
    bit<8> colour;
}

#include "include/switch.p4"

control Ingress(INGRESS_PARAMS) {
    action set_result(bit<8> result) {
        hdr.data.result = result;
    }

    table ranges {
        key = { hdr.data.key: range @name("key"); }
        actions = { set_result; NoAction; }
        default_action = NoAction();
        size = 16;
    }

    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) hits;

    action count_and_set(bit<8> result) {
        hits.count();
        hdr.data.result = result;
    }

    table counted {
        key = { hdr.data.key: ternary @name("key"); }
        actions = { count_and_set; }
        counters = hits;
        size = 16;
    }

    ActionProfile(16) members;
    table profiled {
        key = { hdr.data.key: exact @name("key"); }
        actions = { set_result; NoAction; }
        implementation = members;
        size = 16;
    }

    ActionProfile(16) ways;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) hash;
    ActionSelector(ways, hash, SelectorMode_t.FAIR, 16, 16) choice;
    table selected {
        key = { hdr.data.kind: exact @name("kind"); hdr.data.key: selector; }
        actions = { set_result; NoAction; }
        implementation = choice;
        size = 16;
    }

    Meter<bit<1>>(2, MeterType_t.PACKETS, 7, 6, 5) meter;
    Counter<bit<32>, bit<8>>(4, CounterType_t.PACKETS) kinds;

    apply {
        ig_tm_md.ucast_egress_port = 1;
        kinds.count(hdr.data.kind);
        if (hdr.data.kind == 0) {
            ranges.apply();
        } else if (hdr.data.kind == 1) {
            counted.apply();
        } else if (hdr.data.kind == 2) {
            profiled.apply();
        } else if (hdr.data.kind == 3) {
            selected.apply();
        } else {
            hdr.data.colour = meter.execute(1);
        }
    }
}

SWITCH
