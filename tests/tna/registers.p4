// Register actions of pairs and scalars, math units, registers that begin with a value.
#include <core.p4>
#include <tna.p4>

header data_t {
    bit<8> op;
    bit<8> index;
    bit<32> operand;
    bit<32> result;
}

#include "include/switch.p4"

struct pair_t {
    bit<32> low;
    bit<32> high;
}

control Ingress(INGRESS_PARAMS) {
    Register<bit<32>, bit<8>>(4, 10) counts;
    RegisterAction<bit<32>, bit<8>, bit<32>>(counts) add = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value;
            value = value |+| hdr.data.operand;
        }
    };
    RegisterAction<bit<32>, bit<8>, bit<1>>(counts) above = {
        void apply(inout bit<32> value, out bit<1> rv) {
            if (hdr.data.operand > value) { rv = 1; }
        }
    };

    Register<pair_t, bit<8>>(2, {1, 2}) pairs;
    RegisterAction<pair_t, bit<8>, bit<32>>(pairs) exchange = {
        void apply(inout pair_t value, out bit<32> rv) {
            rv = value.low;
            value.low = value.high;
            value.high = hdr.data.operand;
        }
    };

    // 65536 / x
    Register<bit<32>, bit<8>>(1) shares;
    MathUnit<bit<32>>(true, 0, 9, {68, 73, 78, 85, 93, 102, 113, 128, 0, 0, 0, 0, 0, 0, 0, 0}) reciprocal;
    RegisterAction<bit<32>, bit<8>, bit<32>>(shares) divide = {
        void apply(inout bit<32> value, out bit<32> rv) {
            value = reciprocal.execute(hdr.data.operand);
            rv = value;
        }
    };

    apply {
        ig_tm_md.ucast_egress_port = 1;
        if (hdr.data.op == 0) {
            hdr.data.result = add.execute(hdr.data.index);
        } else if (hdr.data.op == 1) {
            hdr.data.result = 31w0 ++ above.execute(hdr.data.index);
        } else if (hdr.data.op == 2) {
            hdr.data.result = exchange.execute(hdr.data.index);
        } else if (hdr.data.op == 3) {
            hdr.data.result = divide.execute(0);
        }
    }
}

SWITCH
