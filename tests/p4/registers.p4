// Registers and counters: reading, writing, an index out of range, a direct counter that counts every hit.
#include "include/data.p4"

register<bit<16>>(1) shared;

control Work(inout data_t d, inout standard_metadata_t s) {
    register<bit<16>>(4) cells;
    register<int<8>>(1) signed_cell;
    counter(4, CounterType.packets_and_bytes) events;
    counter(1, CounterType.bytes) lengths;
    direct_counter(CounterType.packets) hits;
    direct_counter(CounterType.packets_and_bytes) measured_hits;

    action set(bit<16> value) {
        d.x = value;
    }

    table counted {
        key = { d.a: exact; }
        actions = { set; NoAction; }
        counters = hits;
    }

    table measured {
        key = { d.a: ternary; }
        actions = { set; NoAction; }
        counters = measured_hits;
    }

    apply {
        switch (d.op) {
            0: { cells.read(d.x, (bit<32>)d.a); }
            1: { cells.write((bit<32>)d.a, d.b); }
            2: {
                cells.read(d.x, (bit<32>)d.a);
                d.x = d.x + 1;
                cells.write((bit<32>)d.a, d.x);
            }
            3: { events.count((bit<32>)d.a); }
            4: { counted.apply(); }
            5: { signed_cell.write(0, (int<8>)(int<16>)d.a); }
            6: {
                int<8> value;
                signed_cell.read(value, 0);
                // BMv2 reads the bits as unsigned.
                d.x = (bit<16>)(bit<8>)value;
            }
            7: { shared.write(0, d.a); }
            8: { shared.read(d.x, 0); }
            9: { lengths.count(0); measured.apply(); }
        }
    }
}

#include "include/shell.p4"
