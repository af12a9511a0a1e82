// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that do not fit into registers: those of more than 128 bits, and `varbit`s.

use std::sync::Arc;

use marklab_p4::ir::*;
use marklab_pipeline::{Jit, KeyMatch, Layout, LoadError, Packet, Phv, Stage, State, TableEntry};
use num_bigint::BigUint;
use proptest::prelude::*;

use crate::support::*;

const WIDE: Ty = Ty::bits(200);
const U32: Ty = Ty::bits(32);

/// A value with bits in each of its words.
fn value(seed: u32, ty: Ty) -> BigUint {
    let bytes: Vec<u8> = (0..ty.width.div_ceil(8)).map(|at| (at + 7 * seed) as u8 | 1).collect();
    BigUint::from_bytes_le(&bytes) & mask(ty.width)
}

fn wide(seed: u32, ty: Ty) -> Expr {
    expr(ExprKind::Const(value(seed, ty)), ty)
}

fn get(program: &Program, phv: &Phv, slot: SlotId) -> BigUint {
    phv.get_wide(Layout::new(program).field(slot).unwrap())
}

fn set_parser(program: &mut Program, states: Vec<State_>) {
    program.blocks[PARSER.index()].body = BlockBody::Parser(ParserBody { states, start: StateId(0) });
}

fn state(body: Vec<Stmt>, next: Transition) -> State_ {
    State_ { name: "s".into(), body, next, span: span() }
}

#[test]
fn wide_locals_are_copied_not_shared() {
    let mut program = program();
    let [a, b] = ["a", "b"].map(|name| add_slot(&mut program, name, WIDE, Class::Local(EGRESS)));
    let [x, y, z] = ["x", "y", "z"].map(|name| add_slot(&mut program, name, WIDE, Class::Packet));
    let body = vec![
        assign(z, load(&program, a)),
        assign(a, wide(1, WIDE)),
        assign(b, load(&program, a)),
        assign(a, wide(2, WIDE)),
        assign(x, load(&program, a)),
        assign(y, load(&program, b)),
    ];
    set_body(&mut program, EGRESS, body);
    let outcome = agreed(program.clone(), &[Stage::Egress], &Packet::default(), &|_, _| {});
    let found = [x, y, z].map(|slot| get(&program, &outcome.phv, slot));
    assert_eq!(found, [value(2, WIDE), value(1, WIDE), BigUint::ZERO]);
}

#[test]
fn wide_elements_of_a_local_stack_are_apart() {
    for index in 0..4 {
        let mut program = program();
        let stack = add_stack(&mut program, "s", &[200, 8, 400], 3, Class::Local(EGRESS));
        let result = add_slot(&mut program, "result", WIDE, Class::Packet);
        let field = program.headers[program.stacks[stack.index()].first.index()].fields[0];
        let at = |index| Place { slot: field, index: Some(Index { stack, expr: constant(index, U32).into() }) };
        let mut body: Vec<Stmt> = (0..4).map(|index| assign(at(index), wide(index as u32, WIDE))).collect();
        body.push(assign(result, expr(ExprKind::Load(at(index)), WIDE)));
        set_body(&mut program, EGRESS, body);
        let outcome = agreed(program.clone(), &[Stage::Egress], &Packet::default(), &|_, _| {});
        let expected = if index < 3 { value(index as u32, WIDE) } else { BigUint::ZERO };
        assert_eq!(get(&program, &outcome.phv, result), expected);
    }
}

#[test]
fn wide_keys_parameters_and_cells() {
    let mut program = program();
    let key = add_slot(&mut program, "key", WIDE, Class::Packet);
    let argument = add_slot(&mut program, "argument", Ty::bits(300), Class::Packet);
    let read = add_slot(&mut program, "read", Ty::bits(300), Class::Packet);
    let param = add_slot(&mut program, "param", Ty::bits(300), Class::Local(EGRESS));
    program.registers.push(Register::new("r".into(), Ty::bits(300), 3, Vec::new()));
    let register = RegisterId(0);
    let param_spec = ActionParam { name: "p".into(), slot: param, ty: Ty::bits(300), annotations: Vec::new() };
    let call = |call| stmt(StmtKind::Extern(call));
    let body = vec![
        assign(argument, load(&program, param)),
        call(ExternCall::RegisterWrite { register, index: constant(2, U32), value: load(&program, param) }),
        call(ExternCall::RegisterRead { register, dst: read.into(), index: constant(2, U32) }),
        call(ExternCall::RegisterRead { register, dst: read.into(), index: constant(3, U32) }),
        call(ExternCall::Request(Request::Digest {
            name: "d".into(),
            data: vec![load(&program, read), constant(1, U32)],
        })),
    ];
    let action =
        |name: &str, params, body| Action { name: name.into(), params, body, annotations: Vec::new(), span: span() };
    program.actions = vec![action("set", vec![param_spec], body), action("none", Vec::new(), Vec::new())];
    let listed = |action| TableAction { action: ActionId(action), default_only: false, table_only: false };
    let narrow = constant(3, U32);
    let keys = [load(&program, key), narrow].map(|expr| Key {
        name: "k".into(),
        expr,
        kind: MatchKind::Exact,
        annotations: Vec::new(),
    });
    program.tables.push(Table {
        name: "t".into(),
        keys: keys.into(),
        actions: vec![listed(0), listed(1)],
        default_action: ActionCall { action: 1, args: Vec::new() },
        const_default: false,
        entries: Vec::new(),
        const_entries: false,
        size: 8,
        direct_counter: None,
        direct_meter: None,
        profile: None,
        annotations: Vec::new(),
        span: span(),
    });
    let apply = StmtKind::Apply { table: TableId(0), hit: None, action_run: None };
    set_body(&mut program, EGRESS, vec![stmt(apply)]);
    for (seed, hit) in [(1, true), (2, false)] {
        let outcome = agreed(program.clone(), &[Stage::Egress], &Packet::default(), &|phv, state| {
            phv.set_wide(Layout::new(state.program()).field(key).unwrap(), &value(seed, WIDE));
            let keys = vec![KeyMatch::Exact(value(1, WIDE)), KeyMatch::Exact(3u32.into())];
            let args = vec![value(9, Ty::bits(300))];
            state.table_mut(TableId(0)).insert(TableEntry { keys, action: 0, args, priority: 0 }).unwrap();
        });
        let expected = if hit { value(9, Ty::bits(300)) } else { BigUint::ZERO };
        assert_eq!(get(&program, &outcome.phv, argument), expected);
        assert_eq!(get(&program, &outcome.phv, read), expected);
        assert_eq!(outcome.registers[2], expected);
        let digest = outcome.effects.digest.map(|digest| digest.values);
        assert_eq!(digest, hit.then(|| vec![expected, 1u32.into()]));
    }
}

#[test]
fn wide_values_select_and_switch() {
    for (first, expected) in [(0x10, 1), (0x1f, 1), (0x20, 2), (0x2e, 2), (0x2f, 2), (0x30, 9), (0x31, 3), (0x32, 9)] {
        let mut program = program();
        let header = add_header(&mut program, "h", &[200], None, Class::Packet);
        let [result, switched] = ["r", "s"].map(|name| add_slot(&mut program, name, U32, Class::Packet));
        let key = load(&program, program.headers[header.index()].fields[0]);
        let top = |byte: u32| BigUint::from(byte) << 192;
        let target = |number| Target::State(StateId(number));
        let cases = vec![
            (vec![KeySet::Mask { value: top(0x10), mask: top(0xf0) }], target(1)),
            (vec![KeySet::Range { lo: top(0x20), hi: top(0x2f) }], target(2)),
            (vec![KeySet::Value(top(0x31))], target(3)),
            (vec![KeySet::Any], target(4)),
        ];
        let extract = StmtKind::Extract { header: HeaderRef { header, index: None }, varbit_width: None };
        let select = Transition::Select { keys: vec![key.clone()], cases, span: span() };
        let mut states = vec![state(vec![stmt(extract)], select)];
        for number in [1, 2, 3, 9] {
            let body = vec![assign(result, constant(number, U32))];
            states.push(state(body, Transition::Goto(Target::Accept)));
        }
        set_parser(&mut program, states);
        let case = |bytes: &[u32], number| {
            (bytes.iter().map(|&byte| top(byte)).collect(), vec![assign(switched, constant(number, U32))])
        };
        let switch = StmtKind::Switch {
            value: key,
            cases: vec![case(&[0x10, 0x1f], 1), case(&[0x20, 0x2e, 0x2f], 2), case(&[0x31], 3)],
            default: vec![assign(switched, constant(9, U32))],
        };
        set_body(&mut program, EGRESS, vec![stmt(switch)]);
        let mut bytes = [0; 25];
        bytes[0] = first;
        let packet = Packet::new(&bytes, 0);
        let outcome = agreed(program.clone(), &[Stage::Ingress, Stage::Egress], &packet, &|_, _| {});
        let found = [result, switched].map(|slot| get(&program, &outcome.phv, slot));
        assert_eq!(found, [BigUint::from(expected as u32), BigUint::from(expected as u32)], "{first:#x}");
    }
}

// Varbits

/// A stack of headers: a byte, `lead` bits, a `varbit<96>`, and bits up to a whole byte.
fn varbit_stack(program: &mut Program, lead: u32) -> StackId {
    let first = HeaderId(program.headers.len() as u32);
    let before = program.slots.len();
    for element in 0..3 {
        let widths = [8, lead, 96, 8 - lead % 8];
        add_header(program, &format!("s[{element}]"), &widths, Some(2), Class::Packet);
    }
    let stride = (program.slots.len() - before) as u32 / 3;
    let next_index = add_slot(program, "s.$next", U32, Class::Packet);
    program.stacks.push(Stack { name: "s".into(), first, len: 3, stride, next_index });
    StackId(program.stacks.len() as u32 - 1)
}

/// The width of a varbit: the next byte of the packet, in units of 4 bits.
fn width_ahead() -> Expr {
    let width = expr(ExprKind::Lookahead { offset: 0 }, Ty::bits(8));
    let width = expr(ExprKind::Cast(width.into()), U32);
    expr(ExprKind::Binary(BinaryOp::Mul, width.into(), constant(4, U32).into()), U32)
}

/// Bytes of an element. Some elements have a width that is refused.
fn element(lead: u32) -> impl Strategy<Value = Vec<u8>> {
    let units = prop_oneof![8 => (0..=12u8).prop_map(|bytes| 2 * bytes), 1 => Just(3), 1 => Just(26)];
    units.prop_flat_map(move |units| {
        let len = usize::from(units) / 2 + (lead / 8 + 1) as usize;
        prop::collection::vec(any::<u8>(), len).prop_map(move |rest| [&[units][..], &rest].concat())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Varbits at any bit of a stack's elements are copied through a local variable to another element.
    #[test]
    fn varbits_are_copied_between_places(
        (lead, elements) in (0..20u32).prop_flat_map(|lead| (Just(lead), prop::collection::vec(element(lead), 3))),
        (from, to) in (0..5u128, 0..5u128),
        cut in 0..3usize,
    ) {
        let mut program = program();
        let stack = varbit_stack(&mut program, lead);
        let first = program.stacks[stack.index()].first;
        let field = program.headers[first.index()].fields[2];
        let width = add_slot(&mut program, "local.$width", U32, Class::Local(BlockId(2)));
        let local = add_slot(&mut program, "local", Ty::bits(96), Class::Local(BlockId(2)));
        program.slots[local.index()].varbit_width = Some(width);
        let same = add_slot(&mut program, "same", Ty::BOOL, Class::Packet);
        let extract = StmtKind::ExtractNext { stack, varbit_width: Some(width_ahead()) };
        let body = vec![stmt(extract.clone()), stmt(extract.clone()), stmt(extract)];
        set_parser(&mut program, vec![state(body, Transition::Goto(Target::Accept))]);
        let at = |index| Place { slot: field, index: Some(Index { stack, expr: constant(index, U32).into() }) };
        let varbit = |place| expr(ExprKind::Load(place), Ty::bits(96));
        let equal = ExprKind::Binary(BinaryOp::Eq, varbit(local.into()).into(), varbit(at(to)).into());
        let digest = ExternCall::Request(Request::Digest { name: "d".into(), data: vec![varbit(local.into())] });
        let body = vec![
            assign(local, varbit(at(from))),
            assign(at(to), varbit(local.into())),
            assign(same, expr(equal, Ty::BOOL)),
            stmt(StmtKind::Extern(digest)),
        ];
        set_body(&mut program, BlockId(2), body);
        set_body(&mut program, BlockId(5), (0..3).map(|at| stmt(StmtKind::Emit(HeaderId(first.0 + at)))).collect());
        let mut bytes = elements.concat();
        bytes.truncate(bytes.len() - cut);
        let packet = Packet::new(&bytes, 0);
        let outcome = agreed(program.clone(), &[Stage::Ingress, Stage::Deparse], &packet, &|_, _| {});
        if from == to || to >= 3 {
            prop_assert_eq!(&outcome.packet, &packet);
        }
        if to < 3 {
            prop_assert_eq!(get(&program, &outcome.phv, same), BigUint::from(1u32));
        }
    }

    /// Fields that do not end at bytes, of headers that may be absent. Oracle: a string of binary digits.
    #[test]
    fn hashes_of_fields_at_any_bit(
        widths in prop::collection::vec(prop::sample::select(vec![1u32, 3, 7, 8, 12, 64, 65, 130]), 1..6),
        valid in prop::collection::vec(any::<bool>(), 6),
        varbit_bytes in 0..5u32,
        algorithm in prop::sample::select(vec![
            HashAlgorithm::Crc32, HashAlgorithm::Crc16, HashAlgorithm::Csum16, HashAlgorithm::Identity,
        ]),
    ) {
        let mut program = program();
        let result = add_slot(&mut program, "result", Ty::bits(64), Class::Packet);
        let mut data = Vec::new();
        let mut digits = String::new();
        let mut fields = Vec::new();
        for (number, (&width, &valid)) in widths.iter().zip(&valid).enumerate() {
            let header = add_header(&mut program, "h", &[width, 40], Some(1), Class::Packet);
            let spec = program.headers[header.index()].clone();
            for &slot in &spec.fields {
                let header = Some(HeaderRef { header, index: None });
                data.push(DataField { expr: load(&program, slot), header });
            }
            let (fixed, varying) = (value(number as u32, Ty::bits(width)), value(3, Ty::bits(8 * varbit_bytes)));
            if valid {
                digits += &format!("{:0>width$}", fixed.to_str_radix(2), width = width as usize);
                digits += &format!("{:0>width$}", varying.to_str_radix(2), width = 8 * varbit_bytes as usize)
                    [..8 * varbit_bytes as usize];
            }
            fields.push((spec, fixed, varying, valid));
        }
        data.push(DataField { expr: constant(5, Ty::bits(3)), header: None });
        digits += "101";
        digits += &"0".repeat(digits.len().next_multiple_of(8) - digits.len());
        let hash = ExternCall::Hash {
            dst: result.into(),
            algorithm,
            base: constant(0, U32),
            data,
            max: constant(u128::from(u64::MAX), Ty::bits(64)),
        };
        set_body(&mut program, EGRESS, vec![stmt(StmtKind::Extern(hash))]);
        let layout = Layout::new(&program);
        let outcome = agreed(program.clone(), &[Stage::Egress], &Packet::default(), &|phv, _| {
            for (spec, fixed, varying, valid) in &fields {
                phv.set(layout.field(spec.valid).unwrap(), u64::from(*valid));
                phv.set_wide(layout.field(spec.fields[0]).unwrap(), fixed);
                let width = program.slots[spec.fields[1].index()].varbit_width.unwrap();
                phv.set(layout.field(width).unwrap(), u64::from(8 * varbit_bytes));
                let wire = varying.clone() << (8 * (8 - varbit_bytes));
                phv.set_wide(layout.field(spec.fields[1]).unwrap(), &BigUint::from_bytes_le(&{
                    let mut bytes = wire.to_bytes_be();
                    bytes.splice(0..0, vec![0; 8 - bytes.len()]);
                    bytes
                }));
            }
        });
        let bytes: Vec<u8> =
            digits.as_bytes().chunks(8).map(|byte| u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 2).unwrap()).collect();
        let expected = marklab_pipeline::hash(algorithm, &bytes).unwrap() % u64::MAX;
        prop_assert_eq!(get(&program, &outcome.phv, result), BigUint::from(expected));
    }
}

#[test]
fn set_valid_empties_a_varbit() {
    let mut program = program();
    let header = add_header(&mut program, "h", &[8, 96], Some(1), Class::Packet);
    let reference = HeaderRef { header, index: None };
    let extract = StmtKind::Extract { header: reference.clone(), varbit_width: Some(width_ahead()) };
    set_parser(&mut program, vec![state(vec![stmt(extract)], Transition::Goto(Target::Accept))]);
    let body = vec![stmt(StmtKind::SetInvalid(reference.clone())), stmt(StmtKind::SetValid(reference))];
    set_body(&mut program, EGRESS, body);
    set_body(&mut program, BlockId(5), vec![stmt(StmtKind::Emit(header))]);
    let packet = Packet::new(&[4, 1, 2, 3], 0);
    let outcome = agreed(program, &[Stage::Ingress, Stage::Egress, Stage::Deparse], &packet, &|_, _| {});
    assert_eq!(outcome.packet.to_vec(), [0, 3]);
}

#[test]
fn a_deparser_may_emit_in_a_loop() {
    for count in [0, 1, 3, 100] {
        let mut program = program();
        let header = add_header(&mut program, "h", &[72], None, Class::Packet);
        let i = add_slot(&mut program, "i", U32, Class::Local(BlockId(5)));
        let set_valid = StmtKind::SetValid(HeaderRef { header, index: None });
        set_body(&mut program, EGRESS, vec![stmt(set_valid)]);
        let done = ExprKind::Binary(BinaryOp::Eq, load(&program, i).into(), constant(count, U32).into());
        let more = ExprKind::Binary(BinaryOp::Add, load(&program, i).into(), constant(1, U32).into());
        let then = vec![stmt(StmtKind::Break(Label(0)))];
        let body = vec![
            stmt(StmtKind::If { cond: expr(done, Ty::BOOL), then, otherwise: Vec::new() }),
            stmt(StmtKind::Emit(header)),
            assign(i, expr(more, U32)),
        ];
        set_body(&mut program, BlockId(5), vec![stmt(StmtKind::Loop { label: Label(0), body })]);
        let packet = Packet::new(&[1, 2, 3], 0);
        let outcome = agreed(program, &[Stage::Ingress, Stage::Egress, Stage::Deparse], &packet, &|_, _| {});
        assert_eq!(outcome.packet.to_vec(), [&vec![0; 9 * count as usize][..], &[1, 2, 3]].concat());
    }
}

#[test]
fn a_hash_without_an_algorithm_leaves_its_destination() {
    let mut program = program();
    let result = add_slot(&mut program, "result", U32, Class::Packet);
    let hash = ExternCall::Hash {
        dst: result.into(),
        algorithm: HashAlgorithm::Random,
        base: constant(0, U32),
        data: vec![DataField { expr: constant(1, U32), header: None }],
        max: constant(9, U32),
    };
    set_body(&mut program, EGRESS, vec![assign(result, constant(77, U32)), stmt(StmtKind::Extern(hash))]);
    let outcome = agreed(program.clone(), &[Stage::Egress], &Packet::default(), &|_, _| {});
    assert_eq!(get(&program, &outcome.phv, result), BigUint::from(77u32));
}

/// More locals than fit on a thread's stack.
#[test]
fn large_locals_do_not_exhaust_the_stack() {
    let mut program = program();
    let ty = Ty::bits(4096);
    let locals: Vec<SlotId> = (0..500).map(|_| add_slot(&mut program, "l", ty, Class::Local(EGRESS))).collect();
    let stack = add_stack(&mut program, "s", &[4096], 1000, Class::Local(EGRESS));
    let result = add_slot(&mut program, "result", ty, Class::Packet);
    let field = program.headers[program.stacks[stack.index()].first.index()].fields[0];
    let last = Place { slot: field, index: Some(Index { stack, expr: constant(999, U32).into() }) };
    let sum = ExprKind::Binary(BinaryOp::Add, load(&program, locals[499]).into(), constant(1, ty).into());
    let body = vec![
        assign(locals[499], wide(5, ty)),
        assign(last.clone(), expr(sum, ty)),
        assign(result, expr(ExprKind::Load(last), ty)),
    ];
    set_body(&mut program, EGRESS, body);
    let outcome = agreed(program.clone(), &[Stage::Egress], &Packet::default(), &|_, _| {});
    assert_eq!(get(&program, &outcome.phv, result), value(5, ty) + 1u32);
}

/// Oracle: the limit of 2^27 words of 64 bits.
#[test]
fn registers_take_up_to_a_gigabyte_in_all() {
    let load = |sizes: &[u64]| {
        let mut program = program();
        program.registers =
            sizes.iter().map(|&size| Register::new("r".into(), Ty::bits(4096), size, Vec::new())).collect();
        let layout = Arc::new(Layout::new(&program));
        State::new(&Arc::new(program), &layout, 0).map(|_| ())
    };
    let most = (1 << 27) / 64;
    assert!(load(&[most]).is_ok());
    assert!(load(&[most - 1, 1]).is_ok());
    let refused = Err(LoadError::TooLarge { name: "r".into(), size: 2, limit: 1 });
    assert_eq!(load(&[most - 1, 2]), refused);
    assert!(load(&[most + 1]).is_err());
}

/// Oracle: the limit of 2^26 bytes, of which every packet state of v1model reserves 56.
#[test]
fn a_packet_state_takes_up_to_64_mebibytes() {
    let load = |wide: u32, last_bits: u32| {
        let mut program = program();
        program.slots.clear();
        program.intrinsics.clear();
        (0..wide).for_each(|_| _ = add_slot(&mut program, "x", Ty::bits(65_536), Class::Packet));
        add_slot(&mut program, "last", Ty::bits(last_bits), Class::Packet);
        let layout = Arc::new(Layout::new(&program));
        State::new(&Arc::new(program), &layout, 0).map(|_| ())
    };
    let refused = |bytes| Err(LoadError::PacketState { bytes, limit: 1 << 26 });
    assert_eq!(load(8_191, 8 * 8_136), Ok(()));
    assert_eq!(load(8_191, 8 * 8_136 + 1), refused((1 << 26) + 8));
    // Also beyond 2^32 bytes.
    assert_eq!(load(1 << 20, 1), refused((1 << 33) + 56 + 1));
}

#[test]
fn the_jit_declines_a_stage_of_too_many_statements() {
    for (count, taken) in [(20_000, true), (20_001, false)] {
        let mut program = program();
        let slot = add_slot(&mut program, "x", U32, Class::Packet);
        set_body(&mut program, EGRESS, vec![assign(slot, constant(1, U32)); count]);
        let layout = Arc::new(Layout::new(&program));
        match Jit::compile(&Arc::new(program), &layout) {
            Ok(_) => assert!(taken),
            Err(declined) => {
                assert!(!taken);
                assert_eq!(declined.to_string(), "the JIT does not compile a stage of more than 20000 statements");
            }
        }
    }
}
