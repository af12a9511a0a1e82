// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses of generated code to its context, done in Rust, so that Miri can check them. Each test enters a context,
//! uses pointers as generated code does, and changes the state from outside in between.

use std::sync::Arc;

use marklab_p4::ir::{
    Action, ActionCall, ActionId, ActionParam, Arch, Block, BlockBody, BlockId, Class, Counter, CounterId, Expr,
    ExprKind, HashAlgorithm, Key, MatchKind, ParserBody, Program, Register, RegisterId, Slot, SlotId, StateId,
    TableAction, TableId, Target, Transition, Ty, Unit,
};
use marklab_p4::source::Span;
use num_bigint::BigUint;

use super::{
    Context, TableView, count_hit, draw, enter, hash_with_payload, lookup_word, make_room, need_bytes, refuse, reserve,
};
use crate::jit::Referred;
use crate::table::{Count, KeyMatch, MULTIPLIER, Recent, Row, SHIFT, TableEntry};
use crate::{INLINE_BYTES, Layout, Packet, State};

/// The state of a program with a table with one key of 32 bits, one without keys, a register and a counter of two cells
/// each.
fn state() -> State {
    let span = Span::default();
    let control = |name: &str| Block { name: name.into(), body: BlockBody::Control(Vec::new()) };
    let ty = Ty::bits(32);
    let slot = |name: &str, class| Slot { name: name.into(), ty, varbit_width: None, class };
    let param = ActionParam { name: "x".into(), slot: SlotId(1), ty, annotations: Vec::new() };
    let action = Action { name: "a".into(), params: vec![param], body: Vec::new(), annotations: Vec::new(), span };
    let key = Key {
        name: "k".into(),
        expr: Expr { kind: ExprKind::Load(SlotId(0).into()), ty, span },
        kind: MatchKind::Exact,
        annotations: Vec::new(),
    };
    let table = |name: &str, keys| marklab_p4::ir::Table {
        name: name.into(),
        keys,
        actions: vec![TableAction { action: ActionId(0), default_only: false, table_only: false }],
        default_action: ActionCall { action: 0, args: vec![BigUint::from(7u32)] },
        const_default: false,
        entries: Vec::new(),
        const_entries: false,
        size: 100,
        direct_counter: None,
        direct_meter: None,
        profile: None,
        annotations: Vec::new(),
        span,
    };
    let start =
        marklab_p4::ir::State { name: "start".into(), body: Vec::new(), next: Transition::Goto(Target::Accept), span };
    let parser = ParserBody { states: vec![start], start: StateId(0) };
    let parser = Block { name: "P".into(), body: BlockBody::Parser(parser) };
    let program = Arc::new(Program {
        name: "test.p4".into(),
        arch: Arch::V1Model {
            parser: BlockId(0),
            verify_checksum: BlockId(1),
            ingress: BlockId(2),
            egress: BlockId(3),
            compute_checksum: BlockId(4),
            deparser: BlockId(5),
        },
        slots: vec![slot("k", Class::Packet), slot("x", Class::Local(BlockId(2)))],
        headers: Vec::new(),
        stacks: Vec::new(),
        blocks: std::iter::once(parser).chain(["V", "I", "E", "C", "D"].map(control)).collect(),
        actions: vec![action],
        called_actions: Vec::new(),
        tables: vec![table("t", vec![key]), table("always", Vec::new())],
        registers: vec![Register::new("r".into(), ty, 2, Vec::new())],
        register_actions: Vec::new(),
        math_units: Vec::new(),
        filters: Vec::new(),
        counters: vec![Counter {
            name: "c".into(),
            unit: Unit::PacketsAndBytes,
            size: Some(2),
            annotations: Vec::new(),
        }],
        meters: Vec::new(),
        profiles: Vec::new(),
        value_sets: Vec::new(),
        foreign: Vec::new(),
        errors: Vec::new(),
        intrinsics: Vec::new(),
    });
    State::new(&program, &Arc::new(Layout::new(&program)), 1).unwrap()
}

fn entry(key: u32, arg: u32) -> TableEntry {
    let keys = vec![KeyMatch::Exact(key.into())];
    TableEntry { keys, action: 0, args: vec![arg.into()], priority: 0 }
}

/// Looks up a key as generated code does: among the recent look-ups, or by a call.
unsafe fn found(context: *mut Context, key: u64) -> u64 {
    // SAFETY: the caller has entered the context.
    unsafe {
        let TableView { table, direct } = *(*context).tables;
        let place = (key.wrapping_mul(MULTIPLIER) >> SHIFT) as usize * Recent::words(Row::ARGS + 1);
        let recent = direct.cast::<u64>().add(place);
        let row = if *recent == key { recent.add(Recent::ROW) } else { lookup_word(table, key) };
        count_hit(table, *row, 100);
        *row.add(Row::ARGS)
    }
}

/// Looks up each key, and the table without keys.
fn look_up(state: &mut State, keys: &[u64]) -> Vec<u64> {
    let mut all = Vec::new();
    let referred = Referred::default();
    let emitted = enter(state, &mut Packet::default(), &referred, |context| {
        // SAFETY: the context was entered.
        unsafe {
            all.extend(keys.iter().map(|&key| found(context, key)));
            let always: *const u64 = (*(*context).tables.add(1)).direct.cast();
            all.push(*always.add(Row::ARGS));
        }
    });
    assert_eq!(emitted, None);
    all
}

#[test]
fn rows_are_read_where_they_are_after_every_change_of_the_tables() {
    let mut state = state();
    assert_eq!(look_up(&mut state, &[5, 5]), [7, 7, 7]);
    let mut table = state.table_mut(TableId(0));
    let five = table.insert(entry(5, 50)).unwrap();
    table.insert(entry(6, 60)).unwrap();
    assert_eq!(look_up(&mut state, &[5, 6, 5, 8]), [50, 60, 50, 7, 7]);
    // The recent look-ups have the rows as they were.
    state.table_mut(TableId(0)).modify(five, 0, vec![51u32.into()]).unwrap();
    state.table_mut(TableId(0)).set_default(0, &[70u32.into()]).unwrap();
    state.table_mut(TableId(1)).set_default(0, &[71u32.into()]).unwrap();
    assert_eq!(look_up(&mut state, &[5, 6, 8]), [51, 60, 70, 71]);
    // Rows move.
    for key in 100..150 {
        state.table_mut(TableId(0)).insert(entry(key, key)).unwrap();
    }
    assert_eq!(look_up(&mut state, &[5, 149, 8]), [51, 149, 70, 71]);
    state.table_mut(TableId(0)).delete(five).unwrap();
    let mut moved = Box::new(state);
    assert_eq!(look_up(&mut moved, &[5, 149]), [70, 149, 71]);
    assert_eq!(moved.table(TableId(0)).entries().count(), 51);
}

#[test]
fn cells_are_shared_with_the_control_plane() {
    let mut state = state();
    for round in 1..4u64 {
        state.set_register(RegisterId(0), 0, &round.into());
        state.set_counter(CounterId(0), 1, Count { packets: round, bytes: 0 });
        enter(&mut state, &mut Packet::default(), &Referred::default(), |context| {
            // SAFETY: the context was entered.
            unsafe {
                let (register, counter) = (*(*context).registers, *(*context).counters);
                assert_eq!((register.len, counter.len), (2, 2));
                *register.start.add(1) = 10 + *register.start;
                *counter.start.add(3) += 5;
            }
        });
        assert_eq!(state.register(RegisterId(0), 1), Some((10 + round).into()));
        assert_eq!(state.counter(CounterId(0), 1), Some(Count { packets: round, bytes: 5 }));
        state.reset_register(RegisterId(0));
    }
}

/// With bytes in the packet itself and on the heap: reads the slack and writes in front, and does so again after each
/// call that may move the bytes.
#[test]
fn a_packet_is_written_in_front_and_read_beyond_its_end() {
    let mut state = state();
    let referred = Referred { algorithms: vec![HashAlgorithm::Crc16], ..Referred::default() };
    for stored in [0, 1, INLINE_BYTES, INLINE_BYTES + 1, 300] {
        let mut packet = Packet::new(&vec![3; stored], 20);
        let emitted = enter(&mut state, &mut packet, &referred, |context| {
            // SAFETY: the context was entered.
            unsafe {
                let end = |context: *mut Context| (*context).packet_bytes.add((*context).stored as usize);
                _ = end(context).cast::<u64>().read_unaligned();
                assert_eq!(need_bytes(context, stored as u64 + 21), 0);
                assert_eq!(need_bytes(context, stored as u64 + 4), 1);
                assert_eq!((*context).stored, stored as u64 + 4);
                assert_eq!(*end(context).sub(1), 0);
                _ = end(context).cast::<u64>().read_unaligned();
                hash_with_payload(context, 0, [1].as_ptr(), 1, 0);
                make_room(context, 40);
                assert!((*context).headroom >= 40);
                (*context).packet_bytes.sub(40).write_bytes(9, 40);
                (*context).emitted_len = 40;
            }
        });
        packet.move_front(0, emitted.unwrap());
        assert_eq!(packet.to_vec(), [vec![9; 40], vec![3; stored], vec![0; 20]].concat());
    }
}

#[test]
fn a_deparser_goes_on_in_a_buffer_that_grows() {
    let mut state = state();
    for total in [4, 4000] {
        let referred = Referred { scratch_bytes: 64, emitted_bytes: 2, ..Referred::default() };
        let emitted = enter(&mut state, &mut Packet::default(), &referred, |context| {
            // SAFETY: the context was entered.
            unsafe {
                (*context).scratch.write_bytes(1, 64);
                let mut end = (*context).emitted;
                for byte in 0..total {
                    end = reserve(context, end, 1);
                    *end = byte as u8;
                    end = end.add(1);
                }
                (*context).emitted_len = end.offset_from((*context).emitted) as u64;
            }
        });
        let expected: Vec<u8> = (0..total).map(|byte| byte as u8).collect();
        assert_eq!(state.emitted[..emitted.unwrap()], expected);
    }
}

#[test]
fn calls_reach_the_rest_of_the_state() {
    let mut state = state();
    enter(&mut state, &mut Packet::default(), &Referred::default(), |context| {
        // SAFETY: the context was entered.
        unsafe {
            assert_eq!(draw(context, 3, 3), 1);
            assert_eq!((*context).drawn, 3);
            assert_eq!(draw(context, 4, 3), 0);
            refuse(context);
            (*context).faults += 2;
        }
    });
    assert_eq!((state.faults, state.effects.refused), (2, true));
}
