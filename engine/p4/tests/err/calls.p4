#include <core.p4>

header h_t { bit<8> a; }
control block_t();
extern void note(in bit<8> value, in bit<8> other);
extern void note3(in bit<8> a, in bit<8> b, in bit<8> c);
extern void overloaded(in bit<8> a);
extern void overloaded(in bit<8> a, in bit<8> b);
extern void same(in bit<8> a, @optional in bit<8> b);
extern void same(in bit<8> a, @optional in bit<8> c);
extern void fixed(bit<8> size);
extern void result(out bit<8> r);
extern void whole(in h_t h);
extern void both<T>(in T a, in T b);
struct pair_t<T> { T a; T b; }
extern void pair<T>(in pair_t<T> p);
extern E { E(); abstract void f(in bit<8> x); void g(string s); }
extern nothing_t { void f(); }
extern plain_t { plain_t(in bit<8> x); } // E0524:26
extern wrong_t { wrong_t(); bit<8> wrong_t(in bit<8> x); } // E0525:36

extern again_t { again_t(bit<8> x); again_t(bit<8> x); } // E0307:37
extern chain_t { chain_t(); void put(chain_t next); chain_t get(); } // E0457:38 E0457:53

bit<8> twice(in bit<8> x) { return x + x; }
bit<8> forgetful(in bit<8> x) { if (x == 1) { return 2; } } // E0542:8
void nothing(in bit<8> x) { return x; } // E0540:36
bit<8> something(in bit<8> x) { return; } // E0541:33
void leaving() { exit; } // E0536:18
packet_in packets(in bit<8> x) { } // E0442:1
void defaults(out bit<8> x = 3) { } // E0530:30
void options(@optional in bit<8> x) { } // E0548:24
void directed(in string s) { } // E0441:15
extern void blocks(in block_t b); // E0441:20
bit<8> twice(in bit<8> x) { return x; }

control inner(inout bit<8> x) { apply { } }

control c(inout bit<8> x, in bit<8> ro, inout h_t h, inout h_t[2] hs) {
    E() e; // E0528:9
    E() e2 = {
        void f(inout bit<8> y) { } // E0529:14
        void h() { } // E0312:14
    };
    plain_t(3) p;
    nothing_t() n; // E0522:17
    h_t() made; // E0523:5
    plain_t(3) p3 = { void f() { } }; // E0527:21
    inner() i = { void f() { } }; // E0526:17
    const bit<8> limit = 3;
    action act(in bit<8> v, bit<8> data, inout bit<8> late) { } // E0531:42
    action data(packet_in packet) { } // E0440:17
    action nested() { plain_t(3) inner; } // E0521:34
    apply {
        ro = 1; // E0501:9
        limit = 2; // E0501:9
        note(x); // E0503:9
        note(x, x, x); // E0502:9
        note(value = x, value = x); // E0504:25
        note(value = x, x); // E0505:25
        whole(x); // E0401:15
        both(x, 16w1); // E0401:17
        pair(x); // E0506:14
        result(ro); // E0507:16
        result(_);
        fixed(x); // E0508:15
        note(_, x); // E0509:14
        overloaded(x, x, x); // E0510:9
        same(x); // E0511:9
        hs[0](1); // E0512:9
        bit<8> x = 3; // E0547:16
        x = twice(x); // E0511:13
        plain_t(x) here; // E0521:20
        this.f(x); // E0517:9
        h.setValid(1); // E0502:9
        note(ro.isValid(), x); // E0312:17
        e.g("text");
        bit<8> size = x.minSizeInBits<bit<8>>(); // E0416:23
    }
}
