// Arithmetic on bit<W>: wraps, saturates, shifts; slices, concatenation, casts.
#include "include/data.p4"

control Work(inout data_t d, inout standard_metadata_t s) {
    apply {
        switch (d.op) {
            0x00: { d.x = d.a + d.b; }
            0x01: { d.x = d.a - d.b; }
            0x02: { d.x = d.a * d.b; }
            0x03: { d.x = d.a |+| d.b; }
            0x04: { d.x = d.a |-| d.b; }
            0x05: { d.x = d.a << (bit<8>)d.b; }
            0x06: { d.x = d.a >> (bit<8>)d.b; }
            0x07: { d.x = d.a & d.b; }
            0x08: { d.x = d.a | d.b; }
            0x09: { d.x = d.a ^ d.b; }
            0x0a: { d.x = ~d.a; }
            0x0b: { d.x = -d.a; }
            0x0c: { d.x = d.a[7:0] ++ d.b[15:8]; }
            0x0d: { d.x = d.b; d.x[11:4] = d.a[7:0]; }
            0x0e: { d.x = (bit<16>)(bit<4>)d.a; }
            0x0f: { d.x = d.a < d.b ? d.a : d.b; }
            0x10: { d.x = d.a / 8; }
            0x11: { d.x = d.a % 8; }
            0x12: { d.x = (bit<16>)(bit<1>)(d.a >= d.b && d.a != 5 || d.b == 9); }
            0x13: { d.x = (bit<16>)(d.a ++ d.b)[19:12]; }
            default: { mark_to_drop(s); }
        }
    }
}

#include "include/shell.p4"
