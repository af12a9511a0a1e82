// Generic types, functions and controls; type arguments that calls and constructors leave to inference.
#include "include/frame.p4"

header wrapped_t<T> { T value; }
struct pair_t<A, B> { A first; B second; }
struct triple_t<A, B> { A first; pair_t<A, B> rest; }
struct nested_t { triple_t<bit<8>, bit<16>> triple; }

pair_t<B, A> flip<A, B>(in pair_t<A, B> p) {
    return { p.second, p.first };
}
T choose<T>(in bool first, in T a, in T b) {
    return first ? a : b;
}
control Setter<T>(inout T target, in T value) {
    apply { target = value; }
}

control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Setter<bit<8>>() set_byte;
    register<bit<8>>(16) bytes;

    apply {
        pair_t<bit<8>, bit<16>> p = { hdr.h.a, hdr.h.c };
        pair_t<bit<16>, bit<8>> q = flip(p);
        meta.x = choose(q.second == 3, q.first, 7);
        meta.y = choose<bit<8>>(true, 1, 2);
        wrapped_t<bit<8>> w = { 3 };
        nested_t nested = { { w.value, p } };
        set_byte.apply(meta.y, nested.triple.first);
        bit<8> old;
        bytes.read(old, (bit<32>)nested.triple.rest.first);
        bytes.write(0, old);
        hash(meta.x, HashAlgorithm.crc16, 16w0, { p.first, q }, 16w8);
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
