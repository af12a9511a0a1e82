#include "include/frame.p4"
enum bit<8> color_t { RED = 1, BLUE = 2 }
bit<8> f<T>(in T x, in bit<8> y) { if (y == 0) { return 1; } return y - 1; }
parser Sub(packet_in p, out h_t h) { state start { p.extract(h); transition select(h.a) { 0 .. 7: more; 8 &&& 8: accept; } }
    state more { p.advance(8); verify(h.b != 3, error.NoMatch); transition accept; } }
control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action a() { exit; }
    table t { key = { meta.x : lpm; } actions = { a; NoAction; } const entries = { 0x100 &&& 0xff00 : a(); _ : NoAction(); } }
    apply {
        for (bit<8> i in 1 .. 5) { if (i == 3) { continue; } meta.y = f(meta.x, i); }
        switch (t.apply().action_run) { a: { return; } default: { hdr.s.push_front(1); } }
        switch ((color_t)meta.y) { color_t.RED: { hdr.h.setInvalid(); } }
        hdr.s[meta.y] = hdr.h;
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
