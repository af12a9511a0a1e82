// hash with each algorithm of BMv2, base and modulus; fields of invalid headers are left out.
#include "include/data.p4"

header other_t {
    bit<16> value;
}

control Work(inout data_t d, inout standard_metadata_t s) {
    apply {
        other_t other;
        other.setInvalid();
        bit<32> wide = 0;
        switch (d.op) {
            0: { hash(wide, HashAlgorithm.crc32, 32w0, { d.a, d.b }, 64w0x100000000); d.a = wide[31:16]; }
            1: { hash(wide, HashAlgorithm.crc16, 32w0, { d.a, d.b }, 64w0x100000000); }
            2: { hash(wide, HashAlgorithm.csum16, 32w0, { d.a, d.b }, 64w0x100000000); }
            3: { hash(wide, HashAlgorithm.xor16, 32w0, { d.a, d.b }, 64w0x100000000); }
            4: { hash(wide, HashAlgorithm.identity, 32w0, { d.b }, 64w0x100000000); }
            5: { hash(wide, HashAlgorithm.identity, 32w5, { d.b }, 64w10); }
            6: { hash(wide, HashAlgorithm.identity, 32w7, { d.b }, 64w0); }
            7: { hash(wide, HashAlgorithm.xor16, 32w0, { d.a, other.value, d.b }, 64w0x100000000); }
            8: { hash(wide, HashAlgorithm.identity, 32w0, { d.b[3:0] }, 64w0x100000000); }
            9: { hash(wide, HashAlgorithm.crc32_custom, 32w0, { d.a, d.b }, 64w0x100000000); d.a = wide[31:16]; }
            10: { hash(wide, HashAlgorithm.crc16_custom, 32w0, { d.a, d.b }, 64w0x100000000); }
        }
        d.x = wide[15:0];
    }
}

#include "include/shell.p4"
