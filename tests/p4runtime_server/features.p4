// All objects that a P4Runtime client can set up; a packet chooses one of them by `kind`.
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    @hidden bit<7> padding;
}

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> reason;
}

header probe_t {
    bit<8> kind;
    bit<8> a;
    bit<16> b;
    bit<32> c;
    bit<16> colour;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t packet_in;
    probe_t probe;
}

struct metadata_t {
    bit<2> colour;
}

parser FeaturesParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    state start {
        transition select(s.ingress_port) {
            CPU_PORT: from_controller;
            default: probe;
        }
    }
    state from_controller {
        packet.extract(hdr.packet_out);
        transition probe;
    }
    state probe {
        packet.extract(hdr.probe);
        transition accept;
    }
}

control FeaturesVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control FeaturesIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<2>>(MeterType.packets) pace;
    counter(4, CounterType.packets) seen;
    meter(4, MeterType.packets) limits;
    register<bit<48>>(4) notes;
    register<int<8>>(2) degrees;
    action_profile(2) shared;
    @max_group_size(4)
    action_selector(HashAlgorithm.identity, 16, 16) balanced;

    action drop() {
        mark_to_drop(s);
    }

    action send(bit<9> port) {
        s.egress_spec = port;
    }

    action pace_to(bit<9> port) {
        s.egress_spec = port;
        pace.read(meta.colour);
        hdr.probe.colour = (bit<16>) meta.colour;
    }

    action flood(bit<16> group) {
        s.mcast_grp = group;
    }

    action mirror(bit<16> session) {
        drop();
        clone(CloneType.I2E, (bit<32>) session);
    }

    action to_controller(bit<7> reason) {
        s.egress_spec = CPU_PORT;
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = s.ingress_port;
        hdr.packet_in.reason = reason;
    }

    table routes {
        key = { hdr.probe.c: lpm @name("c"); }
        actions = { send; flood; mirror; to_controller; @defaultonly drop; @tableonly NoAction; }
        default_action = drop();
        counters = hits;
        size = 4;
    }

    table rules {
        key = {
            hdr.probe.a: ternary @name("a");
            hdr.probe.b: range @name("b");
            hdr.probe.c: optional @name("c");
        }
        actions = { pace_to; drop; }
        default_action = drop();
        meters = pace;
    }

    table members {
        key = { hdr.probe.a: exact @name("a"); }
        actions = { send; NoAction; }
        implementation = shared;
    }

    table choices {
        key = { hdr.probe.a: exact @name("a"); hdr.probe.b: selector; }
        actions = { send; NoAction; }
        implementation = balanced;
    }

    table fixed {
        key = { hdr.probe.a: exact @name("a"); }
        actions = { send; drop; }
        const default_action = drop();
        const entries = { 1: send(11); 2: send(12); }
    }

    table preset {
        key = { hdr.probe.a: ternary @name("a"); }
        actions = { send; drop; }
        default_action = drop();
        entries = { const 1: send(21); 2 &&& 0xfe: send(22); }
    }

    // It has only a default action.
    table keyless {
        actions = { send; drop; }
        default_action = send(31);
    }

    apply {
        if (hdr.packet_out.isValid()) {
            s.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else {
            seen.count((bit<32>) hdr.probe.kind);
            switch (hdr.probe.kind) {
                0: { routes.apply(); }
                1: { rules.apply(); }
                2: { members.apply(); }
                3: { choices.apply(); }
                4: { fixed.apply(); }
                5: { preset.apply(); }
                6: { keyless.apply(); }
                7: {
                    bit<32> colour;
                    limits.execute_meter((bit<32>) hdr.probe.a, colour);
                    hdr.probe.colour = (bit<16>) colour;
                    s.egress_spec = 1;
                }
                8: {
                    notes.write((bit<32>) hdr.probe.a, (bit<48>) hdr.probe.c);
                    degrees.write((bit<32>) hdr.probe.a, (int<8>) hdr.probe.c[7:0]);
                    s.egress_spec = 1;
                }
                default: { drop(); }
            }
        }
    }
}

control FeaturesEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    apply {
        // Shows the replication id of a copy.
        if (s.instance_type == 5 || s.instance_type == 1) {
            hdr.probe.colour = s.egress_rid;
        }
    }
}

control FeaturesCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control FeaturesDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.probe);
    }
}

V1Switch(
    FeaturesParser(),
    FeaturesVerify(),
    FeaturesIngress(),
    FeaturesEgress(),
    FeaturesCompute(),
    FeaturesDeparser()
) main;
