// Where tables are applied: what p4c-bm2-ss refuses, beside what it accepts; and a key that BMv2 matches differently.
#include "include/frame.p4"

header item_t { bit<8> op; bit<8> a; bit<8> x; }
struct items_t { item_t item; }
struct none_t { }
parser One(packet_in p, out items_t hdr, inout none_t meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.item); transition accept; }
}
control Verify(inout items_t hdr, inout none_t meta) { apply { } }
control Inner(in bit<8> which, out bit<8> result) {
    action set(bit<8> v) { result = v; }
    action leave() { exit; }
    table inner { key = { which: exact; } actions = { set; leave; NoAction; } default_action = NoAction; }
    apply { result = 7; inner.apply(); } // W0702:25
}
control Ingress_(inout items_t hdr, inout none_t meta, inout standard_metadata_t std) {
    action set(bit<8> v) { hdr.item.x = v; }
    action other(bit<8> v) { hdr.item.x = v + 1; }
    table twice { key = { hdr.item.a: exact; } actions = { set; NoAction; } default_action = NoAction; }
    table after_hit { key = { hdr.item.a: exact; } actions = { set; NoAction; } default_action = NoAction; }
    table branches { key = { hdr.item.a: exact; } actions = { set; NoAction; } default_action = NoAction; }
    table hit_and_not { key = { hdr.item.a: exact; } actions = { set; NoAction; } default_action = NoAction; }
    table left { key = { hdr.item.a: exact; } actions = { set; NoAction; } default_action = NoAction; }
    table same_end { key = { hdr.item.a: exact; } actions = { set; NoAction; } default_action = NoAction; }
    table same_next { key = { hdr.item.a: exact; } actions = { set; NoAction; } default_action = NoAction; }
    table next { key = { hdr.item.a: exact; } actions = { set; NoAction; } default_action = NoAction; }
    table run { key = { hdr.item.a: exact; } actions = { set; other; NoAction; } default_action = NoAction; }
    table kept { key = { hdr.item.a: exact; } actions = { set; NoAction; } default_action = NoAction; }
    table returned { key = { hdr.item.a: exact; } actions = { set; NoAction; } default_action = NoAction; }
    table narrow {
        key = {
            hdr.item.a: exact;
            hdr.item.x[6:0]: lpm; // W0705:13
        }
        actions = { set; NoAction; }
        default_action = NoAction;
    }
    Inner() same;
    Inner() again;
    apply {
        bit<8> unread;
        narrow.apply();
        twice.apply();
        hdr.item.x = 1;
        if (hdr.item.op == 1) { twice.apply(); } // W0702:33
        if (after_hit.apply().hit) { after_hit.apply(); } // W0702:38
        if (hdr.item.op == 2) { branches.apply(); hdr.item.x = 2; }
        else { branches.apply(); } // W0702:16
        if (hdr.item.op == 3) { hit_and_not.apply(); }
        else if (hit_and_not.apply().hit) { hdr.item.x = 3; } // W0702:14
        if (hdr.item.op == 4) { left.apply(); exit; }
        else { left.apply(); } // W0702:16

        // The same statement follows.
        if (hdr.item.op == 5) { hdr.item.x = 4; same_end.apply(); unread = 1; } else { same_end.apply(); unread = 2; }
        hdr.item.x = 5;
        switch (hdr.item.op) {
            6: { same_next.apply(); next.apply(); }
            7: { if (hdr.item.x == 1) { same_next.apply(); next.apply(); } }
        }
        // Only the body of a loop is kept.
        for (bit<8> i = 0; i < 3; i = i + 1) { kept.apply(); } // W0704:9
        if (hdr.item.op == 8) {
            switch (run.apply().action_run) { set: { hdr.item.a = 1; } other: { } }
        }
        // Parameters are replaced by arguments.
        if (hdr.item.op == 9) { same.apply(hdr.item.a, hdr.item.x); }
        else { same.apply(hdr.item.a, hdr.item.x); }
        again.apply(hdr.item.a, hdr.item.x);
        if (hdr.item.op == 10) { returned.apply(); return; }
        if (hdr.item.op == 11) { returned.apply(); }
    }
}
control Egress_(inout items_t hdr, inout none_t meta, inout standard_metadata_t std) {
    Inner() again;
    apply {
        again.apply(hdr.item.a, hdr.item.x);
        again.apply(hdr.item.a, hdr.item.x);
    }
}
control Compute(inout items_t hdr, inout none_t meta) { apply { } }
control Deparser_(packet_out p, in items_t hdr) { apply { p.emit(hdr); } }
V1Switch(One(), Verify(), Ingress_(), Egress_(), Compute(), Deparser_()) main;
