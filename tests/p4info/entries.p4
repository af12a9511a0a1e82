// Entries of each match kind, constant and initial.
#include <core.p4>
#include <v1model.p4>

enum bit<8> kind_t { DATA = 3, ACK = 200 }

header h_t {
    bit<16> port;
    bit<48> addr;
    kind_t kind;
    bit<9> odd;
    bit<7> rest;
}

struct headers_t {
    h_t h;
}

struct meta_t {}

parser P(packet_in p, out headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    state start {
        p.extract(hdr.h);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t m) {
    apply {}
}

control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    action a(bit<9> port, @id(7) bool flag) {
        s.egress_spec = port;
    }
    table exact_ones {
        key = { hdr.h.kind : exact; hdr.h.isValid() : exact; }
        actions = { a; }
        default_action = a(0, false);
        const entries = {
            (kind_t.DATA, true) : a(1, true);
            (kind_t.ACK, false) : a(511, false);
        }
    }
    table prefixes {
        key = { hdr.h.addr : lpm; }
        actions = { a; NoAction; }
        entries = {
            0x0a00_0000_0000 &&& 0xff00_0000_0000 : a(1, true);
            const 0x0a00_0000_0001 : NoAction();
            _ : a(2, false);
        }
    }
    table ranked {
        key = { hdr.h.port : range; hdr.h.odd : ternary; hdr.h.rest : optional; }
        actions = { a; NoAction; }
        largest_priority_wins = false;
        priority_delta = 10;
        entries = {
            priority = 20: (1 .. 1024, 0x1f0 &&& 0x0f0, 5) : a(3, true);
            (0 .. 0xffff, 0x100, _) : a(4, false);
            priority = 5: (7, _, _) : NoAction();
        }
    }
    apply {
        exact_ones.apply();
        prefixes.apply();
        ranked.apply();
    }
}

control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    apply {}
}

control D(packet_out p, in headers_t hdr) {
    apply {
        p.emit(hdr.h);
    }
}

V1Switch(P(), V(), I(), E(), V(), D()) main;
