// Operators, casts, slices, numbers without a width, tuples, enums, structs as values.
#include "include/frame.p4"

enum color_t { RED, GREEN, BLUE }
enum bit<4> class_t { LOW = 1, HIGH = 15 }
type bit<16> vlan_t;
typedef int<8> delta_t;
struct point_t { bit<8> x; bit<8> y; }
struct line_t { point_t from; point_t to; }
const int BASE = 1 << 70;
const bit<8> TOP = (bit<8>)(BASE >> 64) + 3 * 5 % 4;
const bit<16> BYTES = 8w0xab ++ 8s0x1d;
const point_t ORIGIN = { x = 1, y = 2 };
const tuple<bit<8>, bool> PAIR = { 4, true };
const list<tuple<bit<8>, bit<16>>> NO_USE = { { 1, 2 }, { 3, 4 } };

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        bit<8> a = hdr.h.a;
        bit<16> c = hdr.h.c;
        delta_t s = (delta_t)a;
        int<16> wide = (int<16>)s;

        meta.x = c + 1 - (bit<16>)a * 3;
        meta.x = c |+| 65000 |-| 7;
        meta.x = c & 0xff0 | ~c ^ 16w7;
        meta.y = (a >> 1) + (a << a[2:0]) + TOP;
        s = s >> 2;
        s = -s |+| 100;
        wide = wide ++ 8s0 == 24s5 ? wide : -wide;
        meta.y = a == 3 && !(c < 9 || c >= 20) ? 8w1 : 2;
        c[7:4] = a[3:0];
        c[15:15] = (bit<1>)(a > 3);
        a = BYTES[11:4] + (bit<8>)(bit<1>)(s < 0);

        color_t color = color_t.GREEN;
        class_t class = class_t.LOW;
        if (color != color_t.RED) {
            class = (class_t)a[3:0];
        }
        switch (class) {
            class_t.LOW: { meta.y = 1; }
            (class_t)4w4:
            class_t.HIGH: { meta.y = (bit<8>)(bit<4>)class_t.HIGH; }
            default: { }
        }
        vlan_t vlan = (vlan_t)c;
        if (vlan == (vlan_t)16w4095) {
            meta.x = (bit<16>)vlan;
        }

        line_t line = { from = ORIGIN, to = { a, meta.y } };
        line.to = line.from;
        if (line.from == line.to && PAIR[1]) {
            line = (line_t){ { 1, 2 }, { y = 3, x = PAIR[0] } };
        }
        tuple<bit<8>, point_t> t = { a, line.to };
        hdr.h = { t[0], t[1].x, ... };
        hdr.h.c = c ++ a == 24w3 ? 16w1 : (bit<16>)wide;
        meta.y = color == color_t.BLUE ? line.to.y : line.from.y;
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
