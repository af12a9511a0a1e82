// A parser loops by its states.
#include <core.p4>

parser Loops(packet_in p, inout bit<8> x) {
    state start {
        for (bit<8> i = 0; i < 4; i += 1) { // E0536:9
            x += i;
        }
        transition accept;
    }
}
