// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interpreter's trace of a program, which must not change what the program does.

use std::path::Path;
use std::sync::Arc;

use marklab_p4::loader::Memory;
use marklab_pipeline::{Engine, Event, EventKind, Interpreter, Layout, Packet, Stage, State, prune};
use num_bigint::BigUint;

const PROGRAM: &str = r"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<4> a; bit<12> b; }
struct headers { h_t h; }
struct meta_t { bit<8> m; }
parser P(packet_in p, out headers hdr, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(hdr.h); transition select(hdr.h.a) { 1: accept; default: reject; } }
}
control V(inout headers hdr, inout meta_t m) { apply {} }
control I(inout headers hdr, inout meta_t m, inout standard_metadata_t s) {
    register<bit<12>>(2) r;
    action set(bit<12> b) { hdr.h.b = b; }
    table t { key = { hdr.h.a: exact; } actions = { set; NoAction; } const entries = { 1: set(7); } }
    apply { t.apply(); r.write(1, hdr.h.b); if (hdr.h.a == 2) { exit; } }
}
control E(inout headers hdr, inout meta_t m, inout standard_metadata_t s) { apply {} }
control C(inout headers hdr, inout meta_t m) { apply {} }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

/// Runs the program on a packet. Returns the events, each with its line, and the resulting packet.
fn run(bytes: &[u8], traced: bool) -> (Vec<(usize, EventKind)>, Vec<u8>) {
    run_source(PROGRAM, bytes, traced)
}

fn run_source(source: &str, bytes: &[u8], traced: bool) -> (Vec<(usize, EventKind)>, Vec<u8>) {
    let loader = Memory::single("main.p4", source);
    let compilation = marklab_p4::compile_with(Path::new("main.p4"), &marklab_p4::Options::default(), &loader);
    let program = Arc::new(prune(compilation.program.as_ref().expect("the program compiles")));
    let layout = Arc::new(Layout::new(&program));
    let mut state = State::new(&program, &layout, 0).expect("the program can be loaded");
    state.trace = traced.then(Vec::new);
    let (mut packet, mut phv) = (Packet::new(bytes, 0), layout.phv());
    let engine = Interpreter::new(&program, &layout);
    for stage in Stage::of_packets(&program) {
        engine.run(stage, &mut state, &mut packet, &mut phv);
    }
    let line = |event: &Event| if event.span.end > 0 { compilation.sources.line_column(event.span).0 } else { 0 };
    let events = state.trace.unwrap_or_default().into_iter().map(|event| (line(&event), event.kind)).collect();
    (events, packet.to_vec())
}

fn line_of(text: &str) -> usize {
    PROGRAM.lines().position(|line| line.contains(text)).expect("a line of the program") + 1
}

#[test]
fn events_tell_parser_tables_registers_and_deparser_with_their_lines() {
    let (events, _) = run(&[0x12, 0x34], true);
    let number = |value: u32| BigUint::from(value);
    let values = |fields: &[marklab_pipeline::FieldValue]| {
        fields.iter().map(|field| (field.width, field.value.clone())).collect::<Vec<_>>()
    };
    let mut kinds = Vec::new();
    for (line, kind) in &events {
        match kind {
            EventKind::State { .. } => kinds.push("state"),
            EventKind::Extracted { fields, .. } => {
                assert_eq!(values(fields), [(4, number(1)), (12, number(0x234))]);
                assert_eq!(*line, line_of("p.extract"));
                kinds.push("extract");
            }
            EventKind::Selected { values, .. } => {
                assert_eq!(*values, [number(1)]);
                kinds.push("select");
            }
            EventKind::LookedUp { key, entry, args, .. } => {
                assert_eq!((key, args), (&vec![number(1)], &vec![number(7)]));
                assert!(entry.is_some());
                assert_eq!(*line, line_of("t.apply"));
                kinds.push("table");
            }
            EventKind::Assigned(field) => {
                assert_eq!(field.value, number(7));
                assert_eq!(*line, line_of("action set"));
                kinds.push("assign");
            }
            EventKind::RegisterWritten { index, value, .. } => {
                assert_eq!((*index, value), (1, &number(7)));
                kinds.push("register");
            }
            EventKind::Branch(taken) => {
                assert!(!taken);
                kinds.push("branch");
            }
            EventKind::Emitted { fields, .. } => {
                assert_eq!(values(fields), [(4, number(1)), (12, number(7))]);
                kinds.push("emit");
            }
            EventKind::Block { .. } => {}
            other => panic!("{other:?} did not happen"),
        }
    }
    assert_eq!(kinds, ["state", "extract", "select", "table", "assign", "register", "branch", "emit"]);
}

#[test]
fn a_miss_and_a_packet_that_is_too_short_are_told() {
    let (events, _) = run(&[0x22, 0x34], true);
    assert!(events.iter().any(|(_, kind)| matches!(kind, EventKind::LookedUp { entry: None, .. })));
    assert!(events.iter().any(|(_, kind)| matches!(kind, EventKind::Exited)));
    let (events, _) = run(&[0x12], true);
    // error.PacketTooShort
    assert!(events.iter().any(|(_, kind)| matches!(kind, EventKind::Rejected(1))));
}

#[test]
fn a_miss_that_runs_no_action_is_told_as_well() {
    let source = PROGRAM.replace("const entries = { 1: set(7); }", "implementation = ap;");
    let source = source.replace("register<bit<12>>(2) r;", "register<bit<12>>(2) r; action_profile(4) ap;");
    let (events, _) = run_source(&source, &[0x12, 0x34], true);
    let missed = events.iter().any(|(line, kind)| {
        *line == line_of("t.apply")
            && matches!(kind, EventKind::LookedUp { entry: None, action: None, args, .. } if args.is_empty())
    });
    assert!(missed, "{events:?}");
}

#[test]
fn nothing_is_told_unless_asked_and_the_packet_is_the_same() {
    for bytes in [&[0x12, 0x34, 0x56][..], &[0x22, 0x34], &[0x12]] {
        let (events, traced) = run(bytes, true);
        let (silent, plain) = run(bytes, false);
        assert!(!events.is_empty());
        assert!(silent.is_empty());
        assert_eq!(traced, plain);
    }
}
