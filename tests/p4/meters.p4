// Meters of packets and of bytes, and direct meters: two rates, three colours.
#include "include/data.p4"

control Work(inout data_t d, inout standard_metadata_t s) {
    meter(4, MeterType.packets) packets;
    meter(2, MeterType.bytes) bytes;
    direct_meter<bit<16>>(MeterType.packets) hits;
    bit<16> colour = 0xaaaa;

    action measured(bit<16> value) {
        d.b = value;
        hits.read(colour);
    }

    action plain() {
        d.b = 0xffff;
    }

    table metered {
        key = { d.a: exact; }
        actions = { measured; plain; }
        default_action = plain();
        meters = hits;
    }

    apply {
        switch (d.op) {
            0: { packets.execute_meter((bit<32>)d.a, d.x); }
            1: { bytes.execute_meter((bit<32>)d.a, d.x); }
            2: { metered.apply(); d.x = colour; }
        }
    }
}

#include "include/shell.p4"
