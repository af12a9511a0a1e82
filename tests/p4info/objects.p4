// One object of each kind in P4Info, with the annotations that P4Info includes.
#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("example.org/port", bit<32>)
type bit<9> port_id_t;
@p4runtime_translation("example.org/name", string)
type bit<12> vrf_t;
type bit<16> plain_t;

enum bit<4> class_t { BULK = 1, FAST = 8 }
enum colour_t { GREEN, RED }

header data_t {
    bit<32> addr;
    bit<12> vrf;
    class_t class;
    bit<16> tag;
}

struct flags_t {
    @brief("a flag") bit<1> marked;
    bit<7> rest;
}

@controller_header("packet_in")
header packet_in_t {
    @id(9) bit<16> reason;
    flags_t flags;
    @hidden bit<8> pad;
    bit<8> queue;
}

@controller_header("packet_out")
@id(0x123456)
header packet_out_t {
    bit<16> port;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    data_t data;
}

struct meta_t {
    vrf_t vrf;
    plain_t tag;
    port_id_t port;
    bit<2> colour;
}

struct learn_t {
    bit<32> addr;
    port_id_t port;
    error reason;
}

struct ports_t {
    @match(ternary) bit<16> port;
    @id(7) bit<8> class;
}

parser P(packet_in p, out headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    value_set<bit<32>>(4) known;
    @name("ports") value_set<ports_t>(8) chosen;
    state start {
        p.extract(hdr.data);
        transition select(hdr.data.addr) {
            known: more;
            _: accept;
        }
    }
    state more {
        transition select(hdr.data.tag, hdr.data.tag[7:0]) {
            chosen: accept;
            _: accept;
        }
    }
}

control V(inout headers_t hdr, inout meta_t m) {
    apply {}
}

control Stage(inout headers_t hdr)(bit<32> size) {
    counter(size, CounterType.packets) seen;
    action count(bit<8> index) {
        seen.count((bit<32>)index);
    }
    table t {
        key = { hdr.data.addr : exact; }
        actions = { count; @tableonly NoAction; }
        const default_action = count(0);
        size = size * 2;
    }
    apply {
        t.apply();
    }
}

@brief("forwards")
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    register<bit<32>>(16) sums;
    register<class_t>(2) classes;
    meter(8, MeterType.bytes) rates;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<2>>(MeterType.packets) colours;
    action_profile(32) members;
    @max_group_size(16) @selector_size_semantics("sum_of_members") @max_member_weight(4)
    action_selector(HashAlgorithm.crc16, 64, 10) groups;
    Stage(4) one;
    @name("second") Stage(5) two;

    @brief("sends") @description("to a port") @custom(anything, goes "here")
    action send(@id(5) port_id_t port, @brief("how") class_t class, bool again, colour_t colour) {
        m.port = port;
        colours.read(m.colour);
        digest<learn_t>(1, { hdr.data.addr, port, s.parser_error });
    }
    action drop() {
        mark_to_drop(s);
    }
    @hidden action secret() {}
    @id(0x00abcd) action fixed(int<8> offset) {}
    action learn() {
        digest(1, { hdr.data.addr, hdr.data.tag });
    }

    @id(0x0200_0001) @flags["fast", 3, "x" ++ "y"] @sizes[rows = 10, deep = false]
    table forward {
        key = {
            hdr.data.addr : lpm @name("address") @brief("where to");
            m.vrf : exact;
            m.tag : optional;
            hdr.data.class : ternary;
            hdr.data.isValid() : exact;
            hdr.data.tag & 0xff0 : range @name("tag");
            s.parser_error : exact;
        }
        actions = { send; drop; fixed; @defaultonly NoAction; }
        default_action = fixed(-1);
        counters = hits;
        meters = colours;
        support_timeout = true;
        size = 100;
    }
    table shared {
        key = { m.vrf : exact; hdr.data.addr : selector; }
        actions = { drop; secret; }
        implementation = groups;
    }
    table profiled {
        key = { m.vrf : exact; }
        actions = { drop; }
        implementation = members;
    }
    @hidden table unseen {
        actions = { drop; }
        default_action = drop();
    }
    apply {
        rates.execute_meter(0, m.colour);
        forward.apply();
        shared.apply();
        profiled.apply();
        unseen.apply();
        one.apply(hdr);
        two.apply(hdr);
        learn();
    }
}

control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    apply {}
}

control D(packet_out p, in headers_t hdr) {
    apply {
        p.emit(hdr.data);
    }
}

@pkginfo(name = "objects", version = "1.2")
@pkginfo_more("kept")
@platform_property(multicast_group_table_size = 10)
@brief("all kinds")
V1Switch(P(), V(), I(), E(), V(), D()) main;
