#include <core.p4>

header h_t { bit<8> a; bit<8> b; }
header options_t { bit<8> len; varbit<320> data; }
header two_varbits_t { varbit<8> a; varbit<8> b; }
struct s_t { bit<8> x; bit<16> y; }
enum bit<8> op_t { ADD = 1 }
enum plain_t { A }
type bit<8> port_t;
const bit<8> k = 5;
extern T make<T>();
extern void take<T>(in T value);

control c(inout h_t h, inout s_t s, inout h_t[3] stack, in bit<8> ro, inout bool flag, inout port_t port) {
    apply {
        s.x = s.y; // E0401:15
        s.x = s.x + s.y; // E0402:15
        port = port + 1; // E0402:16
        s.x = "a" + "b"; // E0402:15
        s.x = s.x ++ 1; // E0402:15
        flag = !s.x; // E0403:16
        s.x = ~3; // E0403:15
        s.x = (bit<8>)flag; // E0404:15
        flag = (bool)7; // E0404:16
        if (s.x) { } // E0405:13
        s.x = flag ? s.x : s.y; // E0406:15
        s.y = flag ? 1 : 2; // E0407:15
        s.x = take(s.x); // E0408:15
        bit<(s.x)> w; // E0410:13
        int<0> none; // E0411:13
        s.x = s[0]; // E0419:15
        h = stack[flag]; // E0420:19
        h = stack[3]; // E0421:19
        tuple<bit<8>, bit<8>> t = { 1, 2 };
        s.x = t[s.x]; // E0422:17
        flag = flag[0:0]; // E0423:16
        s.x = s.y[s.x:0]; // E0424:19
        s.x = s.y[16:9]; // E0425:19
        s.x = s.y[0:7]; // E0426:15
        s.x = s.x % 0; // E0427:15
        s.x = s.x / -1; // E0428:15
        s.x = s.x << -1; // E0429:22
        s.x = s.x << 9; // W0402:15
        s = { 1, 2, 3 }; // E0432:13
        s = { x = 1 }; // E0433:13
        s = { ..., 1 }; // E0434:15
        s = { x = 1, z = 2 }; // E0310:22
        string text = "a"; // E0438:9
        int any = 1; // E0438:9
        s.x = stack.first; // E0310:21
        s.y = make(); // ok: the type of `s.y` determines it
        take(make()); // E0418:14
        take(5); // E0418:9
        take({ a = 1 }); // E0418:9
        s.x = h.minSizeInBits() + 1;
        s.x = flag.x; // E0310:20
        h = (h_t){#};
        s = {#}; // E0401:13
        s.x = op_t.ADD;
        s.x = plain_t.A; // E0401:15
        op_t op = 1; // E0401:19
        port = (port_t)s.x;
        s.x = make<packet_in>().length(); // E0401:15
        s.y = packet_in.minSizeInBits(); // E0445:15
    }
}
