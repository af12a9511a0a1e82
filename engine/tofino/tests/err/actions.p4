/* Actions that are more than one step. */
#include "before.p4"

control Eg(EGRESS) {
    Hash<bit<16>>(HashAlgorithm_t.CRC16) hash;
    Random<bit<8>>() random;
    Lpf<bit<32>, bit<8>>(256) lpf;

    action nested() {
        md.x = hdr.h.a + hdr.h.b + hdr.h.c; // E1401
    }
    action dependent() {
        md.x = hdr.h.a + 1;
        md.y = md.x; // E1402
    }
    action through_variable() {
        bit<32> sum = hdr.h.a + hdr.h.b;
        md.x = sum + 1; // E1401
    }
    action put_together() {
        md.x = (hdr.h.a16 ++ hdr.h.b16) + hdr.h.a; // E1401
    }
    action product() {
        md.x = hdr.h.a * hdr.h.b; // E1403
    }
    action shift() {
        md.x = hdr.h.a << hdr.h.a8; // E1404
    }
    action decides() {
        if (hdr.h.a == 0) { // E1405
            md.x = 1;
        }
    }
    action wide() {
        hdr.h.a48 = hdr.h.a48 |+| hdr.h.b48; // E1406
    }
    action subtract(bit<32> limit) {
        md.x = hdr.h.a - limit; // E1407
        md.y = hdr.h.a |-| limit; // E1407
    }
    action of_entry(bit<32> limit) {
        md.x = limit + 5; // E1413
    }
    action draws() {
        hdr.h.a8 = random.get();
        hdr.h.b8 = random.get(); // E1408
    }
    action hashes(bit<32> salt) {
        hdr.h.a16 = hash.get({ hdr.h.a, salt }); // E1409
    }
    action averages() {
        md.x = lpf.execute(5, hdr.h.a8); // E1411
    }
    action hash_by_default() {
        hdr.h.b16 = hash.get({ hdr.h.a }); // E1410
    }

    table t {
        key = {
            hdr.h.a: exact;
        }
        actions = {
            nested;
            dependent;
            through_variable;
            put_together;
            product;
            shift;
            decides;
            wide;
            subtract;
            of_entry;
            draws;
            hashes;
            averages;
            hash_by_default;
        }
        default_action = hash_by_default;
        size = 16;
    }

    apply {
        t.apply();
        md.x = hdr.h.c + hdr.h.d + 1; // E1401
        md.y = hdr.h.c * 3; // E1403
    }
}

#include "after.p4"
