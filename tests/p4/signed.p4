// int<W>: comparison, saturation, arithmetic shift, extension with the sign, conversion of a bit pattern.
#include "include/data.p4"

control Work(inout data_t d, inout standard_metadata_t s) {
    apply {
        int<16> a = (int<16>)d.a;
        int<16> b = (int<16>)d.b;
        int<8> low = (int<8>)a;
        switch (d.op) {
            0: { d.x = a < b ? 16w1 : 0; }
            1: { d.x = (bit<16>)(a |+| b); }
            2: { d.x = (bit<16>)(a |-| b); }
            3: { d.x = (bit<16>)(a >> 4); }
            4: { d.x = (bit<16>)(int<16>)low; }
            5: { d.x = (bit<16>)(-a); }
            6: { d.x = (bit<16>)(a * b); }
            7: { d.x = (bit<16>)(-8s3 + low)[7:0]; }
        }
    }
}

#include "include/shell.p4"
