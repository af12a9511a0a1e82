// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parsers, deparsers, hashes and checksums on random packets.

use marklab_p4::ir::*;
use marklab_pipeline::{Layout, Packet, Phv, Stage, csum16};
use proptest::prelude::*;

use crate::support::*;

fn extract(header: HeaderId) -> Stmt {
    let header = HeaderRef { header, index: None };
    stmt(StmtKind::Extract { header, varbit_width: None })
}

fn set_states(program: &mut Program, states: Vec<State_>) {
    program.blocks[PARSER.index()].body = BlockBody::Parser(ParserBody { states, start: StateId(0) });
}

fn state(body: Vec<Stmt>, next: Transition) -> State_ {
    State_ { name: "s".into(), body, next, span: span() }
}

fn error_of(program: &Program, phv: &Phv) -> u64 {
    phv.get(Layout::new(program).field(program.intrinsic("standard_metadata.parser_error").unwrap()).unwrap())
}

/// Field widths that add up to whole bytes.
fn header_widths() -> impl Strategy<Value = Vec<u32>> {
    let widths = prop::sample::select(vec![1u32, 2, 3, 4, 6, 8, 13, 16, 24, 32, 48, 64, 72, 100, 128, 129, 1024]);
    prop::collection::vec(widths, 1..8).prop_map(|mut widths| {
        let rest = widths.iter().sum::<u32>() % 8;
        if rest > 0 {
            widths.push(8 - rest);
        }
        widths
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Oracle: headers that are parsed and not changed are deparsed to the same bytes.
    #[test]
    fn parsing_and_deparsing_is_the_identity(
        widths in prop::collection::vec(header_widths(), 1..4),
        bytes in prop::collection::vec(any::<u8>(), 0..120),
        zeros in 0..100usize,
    ) {
        let mut program = program();
        let headers: Vec<HeaderId> =
            widths.iter().map(|widths| add_header(&mut program, "h", widths, None, Class::Packet)).collect();
        let body = headers.iter().map(|&header| extract(header)).collect();
        set_states(&mut program, vec![state(body, Transition::Goto(Target::Accept))]);
        set_body(&mut program, BlockId(5), headers.iter().map(|&header| stmt(StmtKind::Emit(header))).collect());
        let packet = Packet::new(&bytes, zeros);
        let needed: u32 = widths.iter().flatten().sum();
        let outcome = agreed(program.clone(), &[Stage::Ingress, Stage::Deparse], &packet, &|_, _| {});
        prop_assert_eq!(&outcome.packet, &packet);
        prop_assert_eq!(error_of(&program, &outcome.phv), u64::from(needed as usize / 8 > packet.len()));
    }

    /// A chain of tags on a stack. The last bit of each shows whether another one follows.
    #[test]
    fn stacks_are_filled_until_the_end_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
        let mut program = program();
        let stack = add_stack(&mut program, "tags", &[7, 1], 4, Class::Packet);
        let spec = program.stacks[stack.index()].clone();
        let more = program.headers[spec.first.index()].fields[1];
        let last = expr(
            ExprKind::Binary(
                BinaryOp::Sub,
                load(&program, spec.next_index).into(),
                constant(1, Ty::bits(32)).into(),
            ),
            Ty::bits(32),
        );
        let key = expr(
            ExprKind::Load(Place { slot: more, index: Some(Index { stack, expr: last.into() }) }),
            Ty::BOOL,
        );
        let cases = vec![(vec![KeySet::Value(1u32.into())], Target::State(StateId(0)))];
        let select = Transition::Select { keys: vec![key], cases, span: span() };
        let body = vec![stmt(StmtKind::ExtractNext { stack, varbit_width: None })];
        set_states(&mut program, vec![state(body, select)]);
        let emits = (0..4).map(|at| stmt(StmtKind::Emit(HeaderId(spec.first.0 + at)))).collect();
        set_body(&mut program, BlockId(5), emits);
        let packet = Packet::new(&bytes, 0);
        let outcome = agreed(program.clone(), &[Stage::Ingress, Stage::Deparse], &packet, &|_, _| {});
        prop_assert_eq!(&outcome.packet, &packet);
        let tags = bytes.iter().position(|byte| byte & 1 == 0).map_or(bytes.len() + 1, |at| at + 1);
        let expected = if tags > 4 && bytes.len() >= 4 { 3 } else { u64::from(tags > bytes.len()) };
        prop_assert_eq!(error_of(&program, &outcome.phv), expected);
    }

    /// A header with a varbit between two fixed fields; its width comes from the first one.
    #[test]
    fn varbits_are_read_written_and_checked(
        bytes in prop::collection::vec(any::<u8>(), 0..40),
        units in 0..5u8,
    ) {
        let mut program = program();
        let header = add_header(&mut program, "h", &[8, 96, 16], Some(1), Class::Packet);
        let width = expr(ExprKind::Lookahead { offset: 0 }, Ty::bits(8));
        let width = expr(ExprKind::Cast(width.into()), Ty::bits(32));
        let width = expr(
            ExprKind::Binary(BinaryOp::Mul, width.into(), constant(4, Ty::bits(32)).into()),
            Ty::bits(32),
        );
        let reference = HeaderRef { header, index: None };
        let body = vec![stmt(StmtKind::Extract { header: reference, varbit_width: Some(width) })];
        set_states(&mut program, vec![state(body, Transition::Goto(Target::Accept))]);
        set_body(&mut program, BlockId(5), vec![stmt(StmtKind::Emit(header))]);
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = *first % 4 + units * 6;
        }
        let packet = Packet::new(&bytes, 0);
        let outcome = agreed(program.clone(), &[Stage::Ingress, Stage::Deparse], &packet, &|_, _| {});
        prop_assert_eq!(&outcome.packet, &packet);
        let bits = bytes.first().map(|&first| u64::from(first) * 4);
        let expected = match bits {
            None => 1,
            Some(bits) if bits % 8 != 0 => 6,
            // As in BMv2, the packet's length is checked before the field's.
            Some(bits) if bytes.len() < 3 + bits as usize / 8 => 1,
            Some(bits) => if bits > 96 { 4 } else { 0 },
        };
        prop_assert_eq!(error_of(&program, &outcome.phv), expected);
    }

    /// Oracle: RFC 1071 over the bytes.
    #[test]
    fn checksums_are_those_of_rfc_1071(bytes in prop::collection::vec(any::<u8>(), 20), with_payload in any::<bool>()) {
        let mut program = program();
        let widths = [4, 4, 6, 2, 16, 16, 3, 13, 8, 8, 16, 32, 32];
        let header = add_header(&mut program, "ipv4", &widths, None, Class::Packet);
        set_states(&mut program, vec![state(vec![extract(header)], Transition::Goto(Target::Accept))]);
        let reference = HeaderRef { header, index: None };
        let fields = program.headers[header.index()].fields.clone();
        let others = fields.iter().enumerate().filter(|(number, _)| *number != 10);
        let data = others
            .map(|(_, &slot)| DataField { expr: load(&program, slot), header: Some(reference.clone()) })
            .collect();
        let checksum = Checksum {
            condition: constant(1, Ty::BOOL),
            data,
            field: fields[10].into(),
            header: Some(reference),
            algorithm: HashAlgorithm::Csum16,
            with_payload,
        };
        let call = |call| vec![stmt(StmtKind::Extern(call))];
        set_body(&mut program, BlockId(1), call(ExternCall::VerifyChecksum(checksum.clone())));
        set_body(&mut program, BlockId(4), call(ExternCall::UpdateChecksum(checksum)));
        set_body(&mut program, BlockId(5), vec![stmt(StmtKind::Emit(header))]);
        let payload = [1, 2, 3];
        let mut input = bytes.clone();
        let sent = u16::from_be_bytes([input.remove(10), input.remove(10)]);
        if with_payload {
            input.extend(payload);
        }
        let packet = Packet::new(&[&bytes[..], &payload].concat(), 9);
        let outcome = agreed(program.clone(), &[Stage::Ingress, Stage::Deparse], &packet, &|_, _| {});
        let expected = csum16(&input);
        prop_assert_eq!(&outcome.packet.stored()[10..12], &expected.to_be_bytes());
        let flag = program.intrinsic("standard_metadata.checksum_error").unwrap();
        let flag = outcome.phv.get(Layout::new(&program).field(flag).unwrap());
        prop_assert_eq!(flag, u64::from(sent != expected));
    }

    /// Fields of all widths, of headers that may be invalid, with every algorithm.
    #[test]
    fn engines_agree_on_hashes(
        bytes in prop::collection::vec(any::<u8>(), 0..30),
        algorithm in prop::sample::select(vec![
            HashAlgorithm::Crc32,
            HashAlgorithm::Crc16,
            HashAlgorithm::Csum16,
            HashAlgorithm::Xor16,
            HashAlgorithm::Identity,
        ]),
        max in prop::sample::select(vec![0u128, 1, 4, 7, 1 << 16]),
    ) {
        let mut program = program();
        let a = add_header(&mut program, "a", &[32, 8, 48, 8], None, Class::Packet);
        let b = add_header(&mut program, "b", &[100, 12], None, Class::Packet);
        let meta = add_slot(&mut program, "meta", Ty::bits(13), Class::Packet);
        let result = add_slot(&mut program, "result", Ty::bits(18), Class::Packet);
        set_states(&mut program, vec![state(vec![extract(a), extract(b)], Transition::Goto(Target::Accept))]);
        let mut data = Vec::new();
        for header in [a, b] {
            for &slot in &program.headers[header.index()].fields {
                let header = Some(HeaderRef { header, index: None });
                data.push(DataField { expr: load(&program, slot), header });
            }
        }
        data.push(DataField { expr: load(&program, meta), header: None });
        let hash = ExternCall::Hash {
            dst: result.into(),
            algorithm,
            base: constant(5, Ty::bits(16)),
            data,
            max: constant(max, Ty::bits(32)),
        };
        set_body(&mut program, EGRESS, vec![assign(meta, constant(0x1555, Ty::bits(13))), stmt(StmtKind::Extern(hash))]);
        let packet = Packet::new(&bytes, 0);
        let layout = Layout::new(&program);
        let outcome = agreed(program, &[Stage::Ingress, Stage::Egress], &packet, &|_, _| {});
        let value = outcome.phv.get(layout.field(result).unwrap());
        prop_assert!(value >= 5 && value < 5 + (max as u64).max(1) % (1 << 18));
    }
}

#[test]
fn advance_skips_bytes_that_come_out_again() {
    for (bits, error, front) in [(16u128, 0, 0), (4, 6, 0), (800, 1, 0)] {
        let mut program = program();
        let body = vec![stmt(StmtKind::Advance(constant(bits, Ty::bits(32))))];
        set_states(&mut program, vec![state(body, Transition::Goto(Target::Accept))]);
        let packet = Packet::new(&[1, 2, 3], 5);
        let outcome = agreed(program.clone(), &[Stage::Ingress], &packet, &|_, _| {});
        assert_eq!(error_of(&program, &outcome.phv), error);
        assert_eq!(outcome.phv.payload_offset(), if error == 0 { 2 } else { front });
    }
}

#[test]
fn parser_states_that_never_end_time_out() {
    let mut program = program();
    set_states(&mut program, vec![state(Vec::new(), Transition::Goto(Target::State(StateId(0))))]);
    let outcome = agreed(program.clone(), &[Stage::Ingress], &Packet::default(), &|_, _| {});
    assert_eq!((error_of(&program, &outcome.phv), outcome.faults), (5, 1));
}

#[test]
fn select_tries_masks_and_ranges_in_order() {
    for (byte, expected) in [(0x00, 9), (0x10, 1), (0x1f, 1), (0x20, 2), (0x2f, 2), (0x30, 3), (0x31, 9)] {
        let mut program = program();
        let header = add_header(&mut program, "h", &[8], None, Class::Packet);
        let result = add_slot(&mut program, "result", Ty::bits(8), Class::Packet);
        let key = load(&program, program.headers[header.index()].fields[0]);
        let target = |number| Target::State(StateId(number));
        let cases = vec![
            (vec![KeySet::Mask { value: 0x10u32.into(), mask: 0xf0u32.into() }], target(1)),
            (vec![KeySet::Range { lo: 0x20u32.into(), hi: 0x2fu32.into() }], target(2)),
            (vec![KeySet::Value(0x30u32.into())], target(3)),
            (vec![KeySet::Any], target(4)),
        ];
        let mut states =
            vec![state(vec![extract(header)], Transition::Select { keys: vec![key], cases, span: span() })];
        for number in [1, 2, 3, 9] {
            let body = vec![assign(result, constant(number, Ty::bits(8)))];
            states.push(state(body, Transition::Goto(Target::Accept)));
        }
        set_states(&mut program, states);
        let layout = Layout::new(&program);
        let outcome = agreed(program, &[Stage::Ingress], &Packet::new(&[byte], 0), &|_, _| {});
        assert_eq!(outcome.phv.get(layout.field(result).unwrap()), expected, "{byte:#x}");
    }
}

/// A switch needs this to clone a packet as it arrived.
#[test]
fn a_program_that_clones_in_ingress_can_be_asked_to_parse_only() {
    let mut program = program();
    let header = add_header(&mut program, "h", &[16], None, Class::Packet);
    let ran = add_slot(&mut program, "ran", Ty::bits(8), Class::Packet);
    let clone =
        ExternCall::Request(Request::Clone { egress: false, session: constant(1, Ty::bits(32)), field_list: None });
    set_states(&mut program, vec![state(vec![extract(header)], Transition::Goto(Target::Accept))]);
    assert!(!Stage::Parse.used_by(&program));
    set_body(&mut program, BlockId(2), vec![assign(ran, constant(1, Ty::bits(8))), stmt(StmtKind::Extern(clone))]);
    assert!(Stage::Parse.used_by(&program));
    let (layout, field) = (Layout::new(&program), program.headers[header.index()].fields[0]);
    for (stage, ran_then) in [(Stage::Parse, 0), (Stage::Ingress, 1)] {
        let outcome = agreed(program.clone(), &[stage], &Packet::new(&[1, 2, 3], 0), &|_, _| {});
        let value = |slot| outcome.phv.get(layout.field(slot).unwrap());
        assert_eq!((value(field), value(ran), outcome.phv.payload_offset()), (0x0102, ran_then, 2));
        assert_eq!(outcome.effects.clone.is_some(), ran_then == 1);
    }
}

/// The packet after egress has added a header of `bytes` bytes in front of it.
fn pushed_header(bytes: u32, deparser: impl Fn(HeaderId) -> Vec<Stmt>) -> Packet {
    let mut program = program();
    let header = add_header(&mut program, "new", &vec![8; bytes as usize], None, Class::Packet);
    let mut body = vec![stmt(StmtKind::SetValid(HeaderRef { header, index: None }))];
    let fields = program.headers[header.index()].fields.clone();
    body.extend(fields.iter().map(|&slot| assign(slot, constant(7, Ty::bits(8)))));
    set_body(&mut program, EGRESS, body);
    set_body(&mut program, BlockId(5), deparser(header));
    let packet = Packet::new(&[1, 2, 3], 2);
    agreed(program, &[Stage::Ingress, Stage::Egress, Stage::Deparse], &packet, &|_, _| {}).packet
}

#[test]
fn a_packet_grows_within_and_beyond_its_headroom() {
    for bytes in [1, 39, 40, 41, 100] {
        let expected = [&vec![7; bytes][..], &[1, 2, 3, 0, 0]].concat();
        assert_eq!(pushed_header(bytes as u32, |header| vec![stmt(StmtKind::Emit(header))]).to_vec(), expected);
    }
}

#[test]
fn a_deparser_may_emit_on_a_condition_and_more_than_once() {
    for (condition, count) in [(0, 1), (1, 2)] {
        let packet = pushed_header(9, |header| {
            let again = vec![stmt(StmtKind::Emit(header))];
            let cond = constant(condition, Ty::BOOL);
            vec![stmt(StmtKind::Emit(header)), stmt(StmtKind::If { cond, then: again, otherwise: Vec::new() })]
        });
        assert_eq!(packet.to_vec(), [&vec![7; 9 * count][..], &[1, 2, 3, 0, 0]].concat());
    }
}
