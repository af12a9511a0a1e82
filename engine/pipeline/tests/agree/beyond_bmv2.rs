// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that BMv2's compiler refuses and both engines run, by the rules of the language.

use std::sync::Arc;

use marklab_p4::ir::HashAlgorithm;
use marklab_pipeline::{Layout, LoadError, State, csum16, hash};
use marklab_units::Time;
use proptest::prelude::*;

use crate::twins::{PLAIN_PARSER, Twins, compiled, source};

/// A program whose parser's `states` extract bytes of the packet to a stack of two. Behind these it emits a number:
/// 0xbad if the stack was too small, otherwise 0, unless the body of `ComputeChecksum` changes it.
fn stack_program(states: &str, compute: &str, deparse: &str) -> Twins {
    Twins::from_source(&format!(
        "#include <core.p4>
#include <v1model.p4>
header item_t {{ bit<8> v; }}
header sum_t {{ bit<16> v; }}
struct headers {{ item_t[2] items; sum_t sum; }}
struct metadata {{ }}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {{
    {states}
}}
control V(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {{
    apply {{
        hdr.sum.setValid();
        hdr.sum.v = standard_metadata.parser_error == error.StackOutOfBounds ? 16w0xbad : 16w0;
    }}
}}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {{ apply {{ }} }}
control C(inout headers hdr, inout metadata meta) {{ {compute} }}
control D(packet_out packet, in headers hdr) {{ apply {{ {deparse} }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    ))
}

const EMIT: &str = "packet.emit(hdr);";
const NO_COMPUTE: &str = "apply { }";
const TAKE_TWO: &str =
    "state start { packet.extract(hdr.items.next); packet.extract(hdr.items.next); transition accept; }";

#[test]
fn next_is_the_element_that_extract_would_fill() {
    let states = "state start { packet.extract(hdr.items.next); hdr.items.next = { 7 }; transition accept; }";
    let mut twins = stack_program(states, NO_COMPUTE, EMIT);
    assert_eq!(twins.send(Time::ZERO, &[1]), [1, 7, 0, 0]);
}

#[test]
fn next_of_a_full_stack_ends_the_parser() {
    let full = "packet.extract(hdr.items.next); packet.extract(hdr.items.next);";
    for (use_of_next, error) in [
        ("hdr.items.next = { 7 };", true),
        ("if (hdr.items.next.v == 0) { }", true),
        // The right side is not evaluated.
        ("if (hdr.items[0].v == 9 && hdr.items.next.v == 0) { }", false),
        ("hdr.items[1].v = hdr.items[0].v == 9 ? hdr.items.next.v : 4;", false),
    ] {
        let states = format!("state start {{ {full} {use_of_next} transition accept; }}");
        let out = stack_program(&states, NO_COMPUTE, EMIT).send(Time::ZERO, &[1, 2]);
        assert_eq!(out[2..], if error { [0x0b, 0xad] } else { [0, 0] }, "{use_of_next}");
    }
}

#[test]
fn checksums_take_computed_values() {
    let sum = |bytes: [u8; 2]| csum16(&bytes).to_be_bytes();
    for (compute, expected) in [
        ("update_checksum(true, { hdr.items[0].v + 1, hdr.items[1].v }, hdr.sum.v, HashAlgorithm.csum16);", [4, 5]),
        ("hdr.items[0].v = 9; update_checksum(true, hdr.items, hdr.sum.v, HashAlgorithm.csum16);", [9, 5]),
        ("if (hdr.items[0].v == 3) { hdr.sum.v = checksum.get({ hdr.items[1].v, 8w1 }); }", [5, 1]),
    ] {
        let compute = format!("Checksum16() checksum; apply {{ {compute} }}");
        let out = stack_program(TAKE_TWO, &compute, EMIT).send(Time::ZERO, &[3, 5]);
        assert_eq!(out[2..], sum(expected), "{compute}");
    }
}

#[test]
fn a_deparser_may_choose() {
    let deparse = "if (hdr.items[0].v > 3) { packet.emit(hdr.items); } else { packet.emit(hdr.items[1]); }";
    let mut twins = stack_program(TAKE_TWO, NO_COMPUTE, deparse);
    assert_eq!(twins.send(Time::ZERO, &[3, 5]), [5]);
    assert_eq!(twins.send(Time::ZERO, &[4, 5]), [4, 5]);
}

#[test]
fn a_number_is_hashed_as_a_list_of_it() {
    let ingress = |data: &str| format!("apply {{ hash(hdr.h.result, HashAlgorithm.crc32, 8w0, {data}, 9w256); }}");
    let [mut bare, mut list] = ["hdr.h.c", "{ hdr.h.c }"].map(|data| Twins::new(PLAIN_PARSER, &ingress(data)));
    let crc = hash(HashAlgorithm::Crc32, &0x0102_0304_u32.to_be_bytes()).expect("an algorithm of BMv2");
    assert_eq!(bare.result(Time::ZERO, 0, 0, 0x0102_0304), crc as u8);
    assert_eq!(list.result(Time::ZERO, 0, 0, 0x0102_0304), crc as u8);
}

proptest! {
    /// Intermediate results are whole numbers; the final result is modulo 2^8.
    #[test]
    fn run_time_ints_are_whole_numbers(a: u8, b: u8) {
        let whole = "((int) hdr.h.a * -(int) (int<8>) hdr.h.b + 1000) - (int) hdr.h.a";
        let mut twins = Twins::new(PLAIN_PARSER, &format!("apply {{ hdr.h.result = ((bit<32>) ({whole}))[11:4]; }}"));
        let expected = i32::from(a) * -i32::from(b as i8) + 1000 - i32::from(a);
        prop_assert_eq!(twins.result(Time::ZERO, a, b, 0), (expected >> 4) as u8);
    }
}

#[test]
fn a_program_with_an_extern_of_its_own_is_refused_by_name() {
    let text = source(PLAIN_PARSER, "apply { own(hdr.h.a); }");
    let text = text.replace("header h_t", "extern void own(in bit<8> x);\nheader h_t");
    let program = compiled(&text);
    let loaded = State::new(&program, &Arc::new(Layout::new(&program)), 1);
    assert_eq!(loaded.err(), Some(LoadError::Foreign { name: "own".into() }));
}
