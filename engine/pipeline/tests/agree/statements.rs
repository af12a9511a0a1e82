// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control flow, header validity, stacks, tables, registers and other externs.

use marklab_p4::ir::*;
use marklab_p4::source::Span;
use marklab_pipeline::{FailedAssertion, KeyMatch, Layout, Packet, Stage, TableEntry};
use num_bigint::BigUint;
use proptest::prelude::*;

use crate::support::*;

const U8: Ty = Ty::bits(8);
const U32: Ty = Ty::bits(32);

/// Runs egress. Returns the value of a slot of up to 64 bits.
fn egress_value(program: Program, slot: SlotId) -> u64 {
    let field = Layout::new(&program).field(slot).unwrap();
    agreed(program, &[Stage::Egress], &Packet::default(), &|_, _| {}).phv.get(field)
}

fn add(left: Expr, right: Expr) -> Expr {
    let ty = left.ty;
    expr(ExprKind::Binary(BinaryOp::Add, left.into(), right.into()), ty)
}

fn less(left: Expr, right: Expr) -> Expr {
    expr(ExprKind::Binary(BinaryOp::Lt, left.into(), right.into()), Ty::BOOL)
}

#[test]
fn locals_start_at_zero_and_live_in_their_block() {
    let mut program = program();
    let local = add_slot(&mut program, "local", U8, Class::Local(EGRESS));
    let result = add_slot(&mut program, "result", U8, Class::Packet);
    let body = vec![
        assign(result, load(&program, local)),
        assign(local, constant(5, U8)),
        assign(result, add(load(&program, result), load(&program, local))),
    ];
    set_body(&mut program, EGRESS, body);
    assert_eq!(egress_value(program, result), 5);
}

#[test]
fn break_and_continue_find_their_loop() {
    // i = 0; sum = 0; loop { if !(i < 10) break; i += 1; if i < 6 continue; sum += i }
    let mut program = program();
    let i = add_slot(&mut program, "i", U8, Class::Local(EGRESS));
    let sum = add_slot(&mut program, "sum", U8, Class::Packet);
    let label = Label(1);
    let if_ = |cond, then| stmt(StmtKind::If { cond, then, otherwise: Vec::new() });
    let negated = expr(ExprKind::Unary(UnaryOp::Not, less(load(&program, i), constant(10, U8)).into()), Ty::BOOL);
    let body = vec![
        if_(negated, vec![stmt(StmtKind::Break(label))]),
        assign(i, add(load(&program, i), constant(1, U8))),
        if_(less(load(&program, i), constant(6, U8)), vec![stmt(StmtKind::Continue(label))]),
        assign(sum, add(load(&program, sum), load(&program, i))),
    ];
    set_body(&mut program, EGRESS, vec![stmt(StmtKind::Loop { label, body })]);
    assert_eq!(egress_value(program, sum), 6 + 7 + 8 + 9 + 10);
}

#[test]
fn a_loop_without_end_is_a_fault() {
    let mut program = program();
    let body = vec![stmt(StmtKind::Loop { label: Label(0), body: Vec::new() })];
    set_body(&mut program, EGRESS, body);
    assert_eq!(agreed(program, &[Stage::Egress], &Packet::default(), &|_, _| {}).faults, 1);
}

#[test]
fn a_block_is_left_by_break_and_exit_leaves_all() {
    let mut program = program();
    let result = add_slot(&mut program, "result", U8, Class::Packet);
    let inner = vec![assign(result, constant(1, U8)), stmt(StmtKind::Break(Label(3))), assign(result, constant(2, U8))];
    let body = vec![
        stmt(StmtKind::Block { label: Label(3), body: inner }),
        assign(result, add(load(&program, result), constant(10, U8))),
        stmt(StmtKind::If { cond: constant(1, Ty::BOOL), then: vec![stmt(StmtKind::Exit)], otherwise: Vec::new() }),
        assign(result, constant(99, U8)),
    ];
    set_body(&mut program, EGRESS, body);
    assert_eq!(egress_value(program, result), 11);
}

#[test]
fn switch_takes_the_case_that_holds_the_value() {
    for (value, expected) in [(0, 10), (1, 11), (2, 11), (3, 99), (255, 99)] {
        let mut program = program();
        let result = add_slot(&mut program, "result", U8, Class::Packet);
        let case = |values: &[u32], to| {
            (values.iter().map(|&value| BigUint::from(value)).collect(), vec![assign(result, constant(to, U8))])
        };
        let switch = StmtKind::Switch {
            value: constant(value, U8),
            cases: vec![case(&[0], 10), case(&[1, 2], 11)],
            default: vec![assign(result, constant(99, U8))],
        };
        set_body(&mut program, EGRESS, vec![stmt(switch)]);
        assert_eq!(egress_value(program, result), expected);
    }
}

#[test]
fn set_valid_clears_the_fields_of_an_invalid_header_only() {
    for (was_valid, expected) in [(false, 0), (true, 7)] {
        let mut program = program();
        let header = add_header(&mut program, "h", &[8], None, Class::Packet);
        let field = program.headers[header.index()].fields[0];
        let reference = HeaderRef { header, index: None };
        let mut body = vec![assign(field, constant(7, U8)), stmt(StmtKind::SetValid(reference.clone()))];
        if was_valid {
            body.swap(0, 1);
            body.push(stmt(StmtKind::SetValid(reference)));
        }
        set_body(&mut program, EGRESS, body);
        assert_eq!(egress_value(program, field), expected);
    }
}

#[test]
fn an_index_beyond_a_stack_reads_zero_and_writes_nothing() {
    for class in [Class::Packet, Class::Local(EGRESS)] {
        for (index, expected) in [(0, 5), (2, 5), (3, 0), (255, 0)] {
            let mut program = program();
            let stack = add_stack(&mut program, "s", &[8, 100], 3, class);
            let result = add_slot(&mut program, "result", U8, Class::Packet);
            let first = &program.headers[program.stacks[stack.index()].first.index()];
            let place = Place { slot: first.fields[0], index: Some(Index { stack, expr: constant(index, U8).into() }) };
            let body = vec![assign(place.clone(), constant(5, U8)), assign(result, expr(ExprKind::Load(place), U8))];
            set_body(&mut program, EGRESS, body);
            assert_eq!(egress_value(program, result), expected, "index {index}");
        }
    }
}

/// A table over two slots whose action copies its parameter into `result`; misses give 1000.
fn with_table(kinds: [(MatchKind, u32); 2]) -> (Program, [SlotId; 2], SlotId, TableId) {
    let mut program = program();
    let keys = kinds.map(|(_, width)| add_slot(&mut program, "key", Ty::bits(width), Class::Packet));
    let result = add_slot(&mut program, "result", U32, Class::Packet);
    let param = add_slot(&mut program, "param", U32, Class::Local(EGRESS));
    let body = vec![assign(result, load(&program, param))];
    let action_param = ActionParam { name: "value".into(), slot: param, ty: U32, annotations: Vec::new() };
    program.actions.push(Action {
        name: "E.set".into(),
        params: vec![action_param],
        body,
        annotations: Vec::new(),
        span: span(),
    });
    let key = |(kind, slot): (MatchKind, SlotId)| Key {
        name: format!("k{}", slot.0),
        expr: load(&program, slot),
        kind,
        annotations: Vec::new(),
    };
    program.tables.push(Table {
        name: "E.t".into(),
        keys: vec![key((kinds[0].0, keys[0])), key((kinds[1].0, keys[1]))],
        actions: vec![TableAction { action: ActionId(0), default_only: false, table_only: false }],
        default_action: ActionCall { action: 0, args: vec![BigUint::from(1000u32)] },
        const_default: false,
        entries: Vec::new(),
        const_entries: false,
        size: 1024,
        direct_counter: None,
        direct_meter: None,
        profile: None,
        annotations: Vec::new(),
        span: span(),
    });
    let table = TableId(0);
    set_body(&mut program, EGRESS, vec![stmt(StmtKind::Apply { table, hit: None, action_run: None })]);
    (program, keys, result, table)
}

pub(crate) fn key_match(kind: MatchKind, width: u32) -> BoxedStrategy<KeyMatch> {
    let top = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    let value = move || (0..=top).prop_map(BigUint::from);
    match kind {
        MatchKind::Exact => value().prop_map(KeyMatch::Exact).boxed(),
        MatchKind::Lpm => {
            (value(), 0..=width).prop_map(|(value, prefix_len)| KeyMatch::Lpm { value, prefix_len }).boxed()
        }
        MatchKind::Ternary => (value(), value()).prop_map(|(value, mask)| KeyMatch::Ternary { value, mask }).boxed(),
        MatchKind::Range => {
            (value(), value()).prop_map(|(a, b)| KeyMatch::Range { lo: a.clone().min(b.clone()), hi: a.max(b) }).boxed()
        }
        MatchKind::Optional => prop_oneof![Just(KeyMatch::Any), value().prop_map(KeyMatch::Exact)].boxed(),
        MatchKind::Selector => unreachable!("not compared"),
    }
}

/// Length of the prefix that matches a value (0 without a prefix); `None` if the value does not match.
pub(crate) fn matches(key: &KeyMatch, value: u64, width: u32) -> Option<u32> {
    let number = |value: &BigUint| u64::try_from(value).unwrap();
    let holds = match key {
        KeyMatch::Exact(wanted) => number(wanted) == value,
        KeyMatch::Lpm { value: wanted, prefix_len } => {
            let rest = width - prefix_len;
            rest == 64 || number(wanted) >> rest == value >> rest
        }
        KeyMatch::Ternary { value: wanted, mask } => number(wanted) & number(mask) == value & number(mask),
        KeyMatch::Range { lo, hi } => (number(lo)..=number(hi)).contains(&value),
        KeyMatch::Any => true,
    };
    let len = if let KeyMatch::Lpm { prefix_len, .. } = key { *prefix_len } else { 0 };
    holds.then_some(len)
}

fn kinds() -> impl Strategy<Value = [(MatchKind, u32); 2]> {
    use MatchKind::*;
    prop::sample::select(vec![
        [(Exact, 3), (Exact, 2)],
        [(Exact, 2), (Lpm, 4)],
        [(Lpm, 4), (Exact, 64)],
        [(Ternary, 3), (Exact, 2)],
        [(Lpm, 3), (Ternary, 3)],
        [(Range, 4), (Optional, 2)],
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Oracle: tries every entry; the best one by BMv2's rules wins.
    #[test]
    fn tables_find_the_best_entry(
        (kinds, entries, probes) in kinds().prop_flat_map(|kinds| {
            let keys = (key_match(kinds[0].0, kinds[0].1), key_match(kinds[1].0, kinds[1].1));
            let top = |width| if width == 64 { u64::MAX } else { (1u64 << width) - 1 };
            let probe = (0..=top(kinds[0].1), 0..=top(kinds[1].1));
            (Just(kinds), prop::collection::vec((keys, 0..4u32), 0..12), prop::collection::vec(probe, 8))
        }),
        removed in any::<prop::sample::Index>(),
    ) {
        let rows = kinds.iter().any(|(kind, _)| matches!(kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional));
        for probe in probes {
            let (program, keys, result, table) = with_table(kinds);
            let layout = Layout::new(&program);
            let fields = keys.map(|slot| layout.field(slot).unwrap());
            let expected = std::cell::Cell::new(1000);
            let outcome = agreed(program, &[Stage::Egress], &Packet::default(), &|phv, state| {
                phv.set(fields[0], probe.0);
                phv.set(fields[1], probe.1);
                let mut table = state.table_mut(table);
                let mut live = Vec::new();
                for (number, ((a, b), priority)) in entries.iter().enumerate() {
                    let args = vec![BigUint::from(number as u32)];
                    let entry = TableEntry { keys: vec![a.clone(), b.clone()], action: 0, args, priority: *priority };
                    if let Ok(handle) = table.insert(entry) {
                        live.push((handle, number));
                    }
                }
                if !live.is_empty() {
                    let (handle, _) = live.remove(removed.index(live.len()));
                    table.delete(handle).unwrap();
                }
                let best = live
                    .iter()
                    .filter_map(|&(_, number)| {
                        let ((a, b), priority) = &entries[number];
                        let len = matches(a, probe.0, kinds[0].1)? + matches(b, probe.1, kinds[1].1)?;
                        Some((if rows { *priority } else { u32::MAX - len }, number))
                    })
                    .min();
                expected.set(best.map_or(1000, |(_, number)| number as u64));
            });
            prop_assert_eq!(outcome.phv.get(layout.field(result).unwrap()), expected.get());
        }
    }
}

#[test]
fn apply_tells_hit_and_action() {
    let (mut program, keys, result, table) = with_table([(MatchKind::Exact, 8), (MatchKind::Exact, 8)]);
    let hit = add_slot(&mut program, "hit", Ty::BOOL, Class::Packet);
    let run = add_slot(&mut program, "run", U32, Class::Packet);
    let apply = StmtKind::Apply { table, hit: Some(hit), action_run: Some(run) };
    set_body(&mut program, EGRESS, vec![stmt(apply)]);
    let layout = Layout::new(&program);
    let field = |slot| layout.field(slot).unwrap();
    for (key, expected) in [(3, (1, 77)), (4, (0, 1000))] {
        let outcome = agreed(program.clone(), &[Stage::Egress], &Packet::default(), &|phv, state| {
            phv.set(field(keys[0]), key);
            let exact = |value: u32| KeyMatch::Exact(BigUint::from(value));
            let args = vec![BigUint::from(77u32)];
            let entry = TableEntry { keys: vec![exact(3), exact(0)], action: 0, args, priority: 0 };
            state.table_mut(table).insert(entry).unwrap();
        });
        assert_eq!((outcome.phv.get(field(hit)), outcome.phv.get(field(result))), expected);
        assert_eq!(outcome.phv.get(field(run)), 0);
    }
}

#[test]
fn registers_and_counters_ignore_what_is_out_of_range() {
    for (index, expected) in [(0, 41), (3, 41), (4, 9)] {
        let mut program = program();
        program.registers.push(Register::new("r".into(), Ty::bits(48), 4, Vec::new()));
        program.counters.push(Counter {
            name: "c".into(),
            unit: Unit::PacketsAndBytes,
            size: Some(4),
            annotations: Vec::new(),
        });
        let result = add_slot(&mut program, "result", Ty::bits(48), Class::Packet);
        let register = RegisterId(0);
        let at = || constant(index, U32);
        let call = |call| stmt(StmtKind::Extern(call));
        let body = vec![
            assign(result, constant(9, Ty::bits(48))),
            call(ExternCall::RegisterWrite { register, index: at(), value: constant(41, Ty::bits(48)) }),
            call(ExternCall::RegisterRead { register, dst: result.into(), index: at() }),
            call(ExternCall::Count { counter: CounterId(0), index: at() }),
        ];
        set_body(&mut program, EGRESS, body);
        let layout = Layout::new(&program);
        let outcome = agreed(program, &[Stage::Egress], &Packet::new(&[0; 60], 40), &|_, _| {});
        assert_eq!(outcome.phv.get(layout.field(result).unwrap()), expected);
        let counted: u64 = outcome.counters.iter().map(|count| count.packets * 1000 + count.bytes).sum();
        assert_eq!(counted, if index < 4 { 1100 } else { 0 });
    }
}

#[test]
fn random_stays_in_its_bounds_and_is_the_same_in_both_engines() {
    let mut program = program();
    let results: Vec<SlotId> = (0..50).map(|_| add_slot(&mut program, "r", U8, Class::Packet)).collect();
    let draw = |&slot: &SlotId| {
        let (lo, hi) = (constant(10, U8), constant(13, U8));
        stmt(StmtKind::Extern(ExternCall::Random { dst: slot.into(), lo, hi }))
    };
    let body = results.iter().map(draw).collect();
    set_body(&mut program, EGRESS, body);
    let layout = Layout::new(&program);
    let outcome = agreed(program, &[Stage::Egress], &Packet::default(), &|_, _| {});
    let mut seen = [false; 4];
    for slot in results {
        seen[outcome.phv.get(layout.field(slot).unwrap()) as usize - 10] = true;
    }
    assert_eq!(seen, [true; 4]);
}

#[test]
fn effects_reach_the_switch() {
    let mut program = program();
    let call = |call| stmt(StmtKind::Extern(call));
    let at = |start| Span { start, ..Span::default() };
    let condition = |value, start| Expr { span: at(start), ..constant(value, Ty::BOOL) };
    let body = vec![
        call(ExternCall::Request(Request::Clone { egress: true, session: constant(5, U32), field_list: Some(1) })),
        call(ExternCall::Request(Request::Truncate(constant(64, U32)))),
        call(ExternCall::Request(Request::Truncate(constant(100, U32)))),
        call(ExternCall::Request(Request::LogMsg {
            format: "got {}".into(),
            data: vec![constant(1 << 80, Ty::bits(100))],
        })),
        call(ExternCall::Request(Request::Assert { cond: constant(1, Ty::BOOL), assume: false })),
        call(ExternCall::Request(Request::Assert { cond: condition(0, 7), assume: true })),
        call(ExternCall::Request(Request::Assert { cond: condition(0, 9), assume: false })),
        call(ExternCall::Request(Request::Digest { name: "d".into(), data: vec![constant(1, U8), constant(2, U8)] })),
        call(ExternCall::MarkToDrop),
    ];
    set_body(&mut program, EGRESS, body);
    let spec = Layout::new(&program).field(program.intrinsic("standard_metadata.egress_spec").unwrap()).unwrap();
    let outcome = agreed(program, &[Stage::Egress], &Packet::default(), &|_, _| {});
    let effects = outcome.effects;
    assert_eq!(effects.clone.map(|clone| clone.session), Some(5));
    assert_eq!(effects.truncate, Some(64));
    assert_eq!(effects.log, [format!("got {}", 1u128 << 80)]);
    // The first assertion that failed.
    assert_eq!(effects.failed_assertion, Some(FailedAssertion { assume: true, span: at(7) }));
    assert_eq!(effects.digest.map(|digest| digest.values.len()), Some(2));
    assert_eq!(outcome.phv.get(spec), 511);
}
