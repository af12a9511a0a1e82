// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parsers and deparsers (p4c's `bf-p4c/parde`; each check names its file).

use marklab_p4::ir::{
    BinaryOp, BlockBody, BlockId, Expr, ExprKind, ExternCall, Gress, HashAlgorithm, KeySet, ParserBody, Program,
    Request, SlotId, State, StateId, Stmt, StmtKind, Target, Transition, visit,
};
use marklab_p4::source::Span;
use rustc_hash::FxHashMap;

use crate::chip::{self, Limits};
use crate::findings::{Findings, label};
use crate::limit::Limit;

/// Checks parser and deparser of both gresses.
pub(crate) fn check(program: &Program, ingress: Gress, egress: Gress, limits: &Limits, findings: &mut Findings) {
    for gress in [ingress, egress] {
        if let BlockBody::Parser(parser) = &program.blocks[gress.parser.index()].body {
            for state in &parser.states {
                check_state(program, state, findings);
            }
            rows(program, parser, findings);
            if limits.writes_once {
                written_twice(program, parser, findings);
            }
        }
        deparser(program, gress.deparser, limits, findings);
    }
    if let (BlockBody::Parser(parser), Some(limit)) =
        (&program.blocks[egress.parser.index()].body, limits.egress_parse_bytes)
    {
        depth(program, parser, limit, findings);
    }
}

fn check_state(program: &Program, state: &State, findings: &mut Findings) {
    let mut bits = 0;
    for stmt in &state.body {
        match &stmt.kind {
            StmtKind::Advance(by) => match constant(by) {
                Some(by) => bits += by,
                None => findings.report(stmt.span, Limit::AdvanceConstant {}),
            },
            StmtKind::Assign { dst, src } if !evaluates(src) => {
                let field = program.slots[dst.slot.index()].name.clone();
                findings.report(src.span, Limit::ParserCalculation { field });
            }
            _ => {}
        }
    }
    if bits % 8 != 0 {
        findings.report(state.span, Limit::ParserAlignment { state: state.name.clone() });
    }
    if let Transition::Select { keys, span, .. } = &state.next {
        let found: u32 = keys.iter().filter(|key| constant(key).is_none()).map(|key| key.ty.width).sum();
        if found > chip::SELECT_BITS {
            findings.report(*span, Limit::SelectBits { found, limit: chip::SELECT_BITS });
        }
    }
}

/// Checks the parser's TCAM: each transition of a state takes a row (`bf-p4c/specs/parde_spec.h`).
fn rows(program: &Program, parser: &ParserBody, findings: &mut Findings) {
    let mut found = 0;
    for state in &parser.states {
        found += match &state.next {
            Transition::Goto(_) => 1,
            Transition::Select { cases, .. } => cases.iter().map(|(sets, _)| rows_of(program, sets)).sum(),
        };
        if found > chip::PARSER_ROWS {
            let problem = Limit::ParserRows { found, limit: chip::PARSER_ROWS };
            return findings.report(state.span, problem);
        }
    }
}

/// Rows of a case: the product of the sizes of its value sets.
fn rows_of(program: &Program, sets: &[KeySet]) -> u64 {
    let of = |set: &KeySet| match set {
        KeySet::ValueSet(id) => program.value_sets[id.index()].size,
        _ => 1,
    };
    sets.iter().map(of).product()
}

fn constant(expr: &Expr) -> Option<u64> {
    match &expr.kind {
        ExprKind::Const(value) => u64::try_from(value).ok(),
        _ => None,
    }
}

/// Whether a parser can assign an expression: parts of the packet and of fields, constants, the result of a checksum,
/// and an OR with the old value (`canEvaluateInParser` in `extract_parser.cpp`).
fn evaluates(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Load(_) | ExprKind::Lookahead { .. } => true,
        ExprKind::Cast(of) | ExprKind::Slice { of, .. } => evaluates(of),
        ExprKind::Concat(high, low) => evaluates(high) && evaluates(low),
        ExprKind::Binary(BinaryOp::Or | BinaryOp::Ne, left, right) => evaluates(left) && evaluates(right),
        _ => false,
    }
}

/// Bytes that a state consumes.
fn bytes_of(program: &Program, state: &State) -> u64 {
    let header = |header: &marklab_p4::ir::Header| -> u64 {
        header.fields.iter().map(|field| u64::from(program.slots[field.index()].ty.width)).sum()
    };
    let bits: u64 = state
        .body
        .iter()
        .map(|stmt| match &stmt.kind {
            StmtKind::Extract { header: of, .. } => header(&program.headers[of.header.index()]),
            StmtKind::ExtractNext { stack, .. } => {
                header(&program.headers[program.stacks[stack.index()].first.index()])
            }
            StmtKind::Advance(by) => constant(by).unwrap_or(0),
            _ => 0,
        })
        .sum();
    bits / 8
}

/// States that can follow a state.
fn after(state: &State) -> Vec<StateId> {
    let target = |target: &Target| if let Target::State(id) = target { Some(*id) } else { None };
    match &state.next {
        Transition::Goto(next) => target(next).into_iter().collect(),
        Transition::Select { cases, .. } => cases.iter().filter_map(|(_, next)| target(next)).collect(),
    }
}

/// Checks the longest path through the egress parser, with each loop taken once
/// (`bf-p4c/midend/parser_enforce_depth_req.cpp`).
fn depth(program: &Program, parser: &ParserBody, limit: u32, findings: &mut Findings) {
    let mut known = FxHashMap::default();
    let found = depth_from(program, parser, parser.start, &mut Vec::new(), &mut known);
    if found > u64::from(limit) {
        let span = parser.states[parser.start.index()].span;
        findings.report(span, Limit::ParseDepth { found, limit });
    }
}

fn depth_from(
    program: &Program,
    parser: &ParserBody,
    id: StateId,
    path: &mut Vec<StateId>,
    known: &mut FxHashMap<StateId, u64>,
) -> u64 {
    if path.contains(&id) {
        return 0;
    }
    if let Some(found) = known.get(&id) {
        return *found;
    }
    path.push(id);
    let state = &parser.states[id.index()];
    let next = after(state).into_iter().map(|next| depth_from(program, parser, next, path, known)).max().unwrap_or(0);
    path.pop();
    let found = bytes_of(program, state) + next;
    known.insert(id, found);
    found
}

fn is_ones(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Const(value) if value.count_ones() == u64::from(expr.ty.width))
}

/// Slots that a state writes: fields, and the validity of headers, each with whether the value is 0. Slots are 0 before
/// the parser.
fn writes_of(program: &Program, state: &State) -> Vec<(SlotId, Span, bool)> {
    let mut writes = Vec::new();
    for stmt in &state.body {
        match &stmt.kind {
            StmtKind::Extract { header, .. } if header.index.is_none() => {
                writes.push((program.headers[header.header.index()].valid, stmt.span, false));
            }
            StmtKind::Assign { dst, src } => {
                // Ones stay ones after an OR.
                let ored = matches!(&src.kind, ExprKind::Binary(BinaryOp::Or, ..)) || is_ones(src);
                let local = matches!(program.slots[dst.slot.index()].class, marklab_p4::ir::Class::Local(_));
                let zero = constant(src) == Some(0);
                if !ored && !local {
                    writes.push((dst.slot, stmt.span, zero));
                }
            }
            _ => {}
        }
    }
    writes
}

/// Checks for fields that are written twice on a path. The parser ORs values into containers, so the second write gives
/// a wrong value (`check_parser_multi_write.cpp`). As in p4c for Tofino 1, this is an error if the second write always
/// follows the first, and otherwise a warning.
fn written_twice(program: &Program, parser: &ParserBody, findings: &mut Findings) {
    let writes: Vec<_> = parser.states.iter().map(|state| writes_of(program, state)).collect();
    for (index, state) in parser.states.iter().enumerate() {
        for (place, (slot, first, zero)) in writes[index].iter().enumerate() {
            if *zero {
                continue;
            }
            let field = program.slots[slot.index()].name.trim_end_matches(".$valid").to_string();
            let mut report = |second: Span, always: bool| {
                let field = field.clone();
                let problem = if always { Limit::WrittenTwice { field } } else { Limit::MaybeWrittenTwice { field } };
                findings.report_with(second, problem, vec![label(*first, "written here before")]);
            };
            for (other, second, _) in &writes[index][place + 1..] {
                if other == slot {
                    report(*second, true);
                }
            }
            let always = certain(parser, state);
            for later in reachable(parser, state) {
                for (other, second, _) in &writes[later.index()] {
                    if other == slot && later.index() != index {
                        report(*second, always.contains(&later));
                    }
                }
            }
        }
    }
}

/// States that follow without a choice.
fn certain(parser: &ParserBody, from: &State) -> Vec<StateId> {
    let (mut found, mut state) = (Vec::new(), from);
    while let Transition::Goto(Target::State(next)) = state.next
        && !found.contains(&next)
    {
        found.push(next);
        state = &parser.states[next.index()];
    }
    found
}

fn reachable(parser: &ParserBody, from: &State) -> Vec<StateId> {
    let (mut found, mut open) = (Vec::new(), after(from));
    while let Some(next) = open.pop() {
        if !found.contains(&next) {
            found.push(next);
            open.extend(after(&parser.states[next.index()]));
        }
    }
    found.sort_unstable();
    found
}

/// Checks that a deparser only emits, updates checksums, and sends copies and digests (`extract_deparser.cpp`,
/// `bf-p4c/specs/parde_spec.h`).
fn deparser(program: &Program, id: BlockId, limits: &Limits, findings: &mut Findings) {
    let BlockBody::Control(body) = &program.blocks[id.index()].body else { return };
    let mut sums = Vec::new();
    deparse(body, false, &mut sums, limits, findings);
}

fn deparse(body: &[Stmt], conditional: bool, sums: &mut Vec<SlotId>, limits: &Limits, findings: &mut Findings) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Emit(_) if conditional => findings.report(stmt.span, Limit::ConditionalEmit {}),
            StmtKind::Emit(_) => {}
            StmtKind::Extern(ExternCall::Hash { dst, algorithm: HashAlgorithm::Csum16, .. }) => {
                sums.push(dst.slot);
                let (found, limit) = (sums.len(), limits.deparser_checksums);
                if found > limit {
                    findings.report(stmt.span, Limit::Checksums { found, limit });
                }
            }
            StmtKind::Extern(ExternCall::Request(Request::ResubmitEmit { data })) => {
                let found = data.iter().map(|field| field.expr.ty.width).sum::<u32>().div_ceil(8);
                copy_size("resubmitted", found, limits.resubmit_bytes, stmt.span, findings);
            }
            StmtKind::Extern(ExternCall::Request(Request::Digest { data, .. })) => {
                let found = data.iter().map(|field| field.ty.width).sum::<u32>().div_ceil(8);
                copy_size("digested", found, chip::DIGEST_BYTES, stmt.span, findings);
            }
            StmtKind::Extern(ExternCall::Request(Request::MirrorEmit { .. })) => {}
            StmtKind::Assign { src, .. } => {
                let mut is_sum = false;
                visit::loads(src, &mut |slot| is_sum |= sums.contains(&slot));
                if !is_sum {
                    findings.report(stmt.span, Limit::NotInDeparser {});
                }
            }
            StmtKind::If { then, otherwise, .. } => {
                deparse(then, true, sums, limits, findings);
                deparse(otherwise, true, sums, limits, findings);
            }
            StmtKind::Block { body, .. } => deparse(body, conditional, sums, limits, findings),
            _ => findings.report(stmt.span, Limit::NotInDeparser {}),
        }
    }
}

fn copy_size(what: &'static str, found: u32, limit: u32, span: Span, findings: &mut Findings) {
    if found > limit {
        findings.report(span, Limit::CopiedBytes { what, found, limit });
    }
}
