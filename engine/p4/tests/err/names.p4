#include <core.p4>

header ethernet_t { bit<48> dst; bit<48> src; }
struct headers_t { ethernet_t ethernet; }
enum color_t { RED, GREEN }
enum color2_t { RED, RED } // E0308:22
error { TooBig, TooBig } // E0308:17
extern counter_t { counter_t(); void count(in bit<8> index); }
extern void note(in bit<8> value);

parser p(packet_in b, out headers_t hdr) {
    state start {
        b.extract(hdr.ethernet);
        transition select(hdr.ethernet.dst) {
            1: strat; // E0304:16
            default: accept;
        }
    }
}

control c(inout headers_t hdr, inout bit<8> x)(color_t color) {
    counter_t() counts;
    action set(bit<8> value) { x = value; }
    action set(bit<8> other) { x = other; } // E0307:12
    table t {
        key = { x: exakt; } // E0306:20
        actions = { sett; x; } // E0305:21 E0316:27
    }
    apply {
        y = 1; // E0302:9
        x = hdr.ethernt.dst[7:0]; // E0310:17
        x = hdr.ethernet.isvalid() ? 8w1 : 0; // E0312:26
        if (color == color_t.REED) { } // E0311:30
        counts.cuont(x); // E0312:16
        note(valeu = x); // E0313:14
        x = t; // E0314:13
        t(); // E0315:9
        headers_t h2 = { ethernet = { 1, 2 }, ethernet = { 1, 2 } }; // E0309:47
        x = headers_t.ethernet; // E0317:13
    }
}
