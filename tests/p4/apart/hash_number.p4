// `hash` of a number instead of a list: the same as for a list with this number.
#include "../include/data.p4"

control Work(inout data_t d, inout standard_metadata_t s) {
    apply {
        bit<16> of_list;
        hash(d.x, HashAlgorithm.crc16, 16w0, d.a, 32w0x10000);
        hash(of_list, HashAlgorithm.crc16, 16w0, { d.a }, 32w0x10000);
        d.b = d.x == of_list ? 16w1 : 0;
        if (d.op == 1) {
            hash(d.x, HashAlgorithm.crc16, 16w0, 16w0x3132, 32w0x10000);
        }
    }
}

#include "../include/shell.p4"
