/* Actions that are one step. */
#include "before.p4"

control Eg(EGRESS) {
    Hash<bit<16>>(HashAlgorithm_t.CRC16) hash;
    Random<bit<8>>() random;
    Lpf<bit<32>, bit<8>>(256) lpf;
    Meter<bit<8>>(256, MeterType_t.BYTES) meter;

    action one_each() {
        md.x = hdr.h.a + hdr.h.b;
        md.y = hdr.h.a |-| hdr.h.b;
    }
    action swap() {
        bit<32> old = hdr.h.a;
        hdr.h.a = hdr.h.b;
        hdr.h.b = old;
        md.x = hdr.h.a;
    }
    action through_variable() {
        bit<32> sum = hdr.h.a + hdr.h.b;
        md.x = sum;
    }
    action bits() {
        md.x = (hdr.h.a & 0xff00) | (hdr.h.b & 0xff);
        md.y = hdr.h.a & ~hdr.h.b;
        hdr.h.c = hdr.h.a16 ++ hdr.h.b16;
        hdr.h.d = hdr.h.d << 4;
        hdr.h.a48 = hdr.h.a48 + hdr.h.b48;
    }
    action decides(bit<1> on) {
        if (on == 1) {
            md.x = 1;
        }
    }
    action largest() {
        md.x = max(hdr.h.a, hdr.h.b);
        md.y = hdr.h.a - 14 - 20 - 8;
        hdr.h.b = (bit<32>)hdr.h.c16 + hdr.h.b;
        hdr.h.d = hdr.h.d * 4;
        hdr.h.b8 = random.get();
        hdr.h.a16 = (bit<16>)(hdr.h.a + hdr.h.c);
    }
    action add(bit<32> minus_limit) {
        md.x = hdr.h.a + minus_limit;
        md.y = minus_limit - hdr.h.a;
    }
    action averages() {
        md.x = lpf.execute(hdr.h.a, hdr.h.a8);
        hdr.h.b16 = hash.get({ hdr.h.a });
        hdr.h.b8 = meter.execute(hdr.h.a8);
    }

    table t {
        key = {
            hdr.h.a: exact;
        }
        actions = {
            one_each;
            swap;
            through_variable;
            bits;
            decides;
            largest;
            add;
            averages;
        }
        default_action = one_each;
        size = 16;
    }

    apply {
        t.apply();
        md.x = hdr.h.c + hdr.h.d;
        md.y = md.x + 1;
    }
}

#include "after.p4"
