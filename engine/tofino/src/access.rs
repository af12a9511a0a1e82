// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses of registers: a packet may access each register once (p4c's `backends/tofino`; each check names its file).

use marklab_p4::ir::{Expr, ExprKind, ExternCall, Program, RegisterId, Stmt, StmtKind, visit};
use marklab_p4::source::Span;

use crate::findings::{Findings, label};
use crate::flow::{Choice, Flow, What, exclusive};
use crate::limit::Limit;

/// A place where a register is accessed.
struct Access<'a> {
    register: RegisterId,
    within: Vec<Choice>,
    /// The step of the control.
    step: usize,
    kind: Kind,
    index: &'a Expr,
    span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Execute,
}

/// Checks the accesses of the controls of both gresses. A ghost shares registers with ingress.
pub(crate) fn check(program: &Program, flows: &[Flow<'_>], is_egress: &dyn Fn(usize) -> bool, findings: &mut Findings) {
    for action in &program.actions {
        in_one_action(program, &action.name, &action.body, findings);
    }
    let mut by_flow = Vec::new();
    for (number, flow) in flows.iter().enumerate() {
        let accesses = accesses_of(program, flow);
        index_forms(program, &accesses, findings);
        one_per_packet(program, flow, &accesses, findings);
        by_flow.push((is_egress(number), accesses));
    }
    one_gress(program, &by_flow, findings);
}

/// The access of a statement, with its index; `None` if the statement is no access.
fn access_of<'a>(program: &Program, stmt: &'a Stmt) -> Option<(RegisterId, Kind, Span, &'a Expr)> {
    let StmtKind::Extern(call) = &stmt.kind else { return None };
    let (register, kind, index) = match call {
        ExternCall::RegisterRead { register, index, .. } => (*register, Kind::Read, index),
        ExternCall::RegisterWrite { register, index, .. } => (*register, Kind::Write, index),
        ExternCall::ExecuteRegister { action, index, .. } => {
            (program.register_actions[action.index()].register, Kind::Execute, index)
        }
        ExternCall::Math { .. }
        | ExternCall::Filter { .. }
        | ExternCall::ChecksumAdd { .. }
        | ExternCall::Count { .. }
        | ExternCall::DirectCount { .. }
        | ExternCall::ExecuteMeter { .. }
        | ExternCall::DirectMeterRead { .. }
        | ExternCall::Random { .. }
        | ExternCall::Hash { .. }
        | ExternCall::VerifyChecksum(_)
        | ExternCall::UpdateChecksum(_)
        | ExternCall::MarkToDrop
        | ExternCall::Request(_) => return None,
    };
    Some((register, kind, stmt.span, index))
}

/// Accesses in statements, in order.
fn accesses_in<'a>(program: &Program, body: &'a [Stmt]) -> Vec<(RegisterId, Kind, Span, &'a Expr)> {
    let mut found = Vec::new();
    visit::statements(body, &mut |stmt| found.extend(access_of(program, stmt)));
    found
}

/// A read followed by a write is one access (`bf-p4c/midend/register_read_write.cpp`).
fn is_one_access(first: Kind, second: Kind) -> bool {
    first == Kind::Read && second == Kind::Write
}

/// Checks that an action uses a register once (`bf-p4c/mau/instruction_selection.cpp`,
/// `bf-p4c/common/extract_maupipe.cpp`).
fn in_one_action(program: &Program, name: &str, body: &[Stmt], findings: &mut Findings) {
    let accesses = accesses_in(program, body);
    for (place, (register, kind, span, _)) in accesses.iter().enumerate() {
        let before = &accesses[..place];
        if let Some((_, _, first, _)) =
            before.iter().find(|(other, earlier, ..)| other == register && !is_one_access(*earlier, *kind))
        {
            let problem = Limit::ExecutedTwice { register: name_of(program, *register), action: name.to_string() };
            findings.report_with(*span, problem, vec![label(*first, "used here before")]);
        }
    }
}

/// All accesses of a control, including those of its tables' actions.
fn accesses_of<'a>(program: &'a Program, flow: &Flow<'a>) -> Vec<Access<'a>> {
    let mut accesses = Vec::new();
    for (place, step) in flow.steps.iter().enumerate() {
        match step.what {
            What::Do(stmt) => {
                if let Some((register, kind, span, index)) = access_of(program, stmt) {
                    accesses.push(Access { register, within: step.within.clone(), step: place, kind, index, span });
                }
            }
            What::Apply(table) => {
                for entry in &program.tables[table.index()].actions {
                    for (register, kind, span, index) in
                        accesses_in(program, &program.actions[entry.action.index()].body)
                    {
                        let within = flow.within_action(place, entry.action);
                        accesses.push(Access { register, within, step: place, kind, index, span });
                    }
                }
            }
            What::Test { .. } => {}
        }
    }
    accesses
}

/// Checks that a packet accesses a register once: uses that do not exclude each other need more accesses
/// (`bf-p4c/midend/register_read_write.cpp`).
fn one_per_packet(program: &Program, flow: &Flow<'_>, accesses: &[Access<'_>], findings: &mut Findings) {
    for (place, access) in accesses.iter().enumerate() {
        let earlier = accesses[..place].iter().find(|other| {
            other.register == access.register
                && other.step != access.step
                && !exclusive(&other.within, &access.within)
                && !(is_one_access(other.kind, access.kind) && next_to(flow, other.step, access.step))
        });
        if let Some(earlier) = earlier {
            let problem = Limit::AccessedTwice { register: name_of(program, access.register) };
            findings.report_with(access.span, problem, vec![label(earlier.span, "used here before")]);
        }
    }
}

/// Whether p4c puts two statements into one action: only statements are between them, under the same decisions.
fn next_to(flow: &Flow<'_>, one: usize, other: usize) -> bool {
    let between = &flow.steps[one..=other];
    between.iter().all(|step| matches!(step.what, What::Do(_)) && step.within == flow.steps[one].within)
}

/// Checks that the two gresses share no register (p4c issue 5423).
fn one_gress(program: &Program, by_flow: &[(bool, Vec<Access<'_>>)], findings: &mut Findings) {
    let all = |egress: bool| by_flow.iter().filter(move |(gress, _)| *gress == egress).flat_map(|(_, found)| found);
    for access in all(true) {
        if let Some(other) = all(false).find(|other| other.register == access.register) {
            let problem = Limit::BothGresses { register: name_of(program, access.register) };
            findings.report_with(access.span, problem, vec![label(other.span, "used in ingress")]);
        }
    }
}

/// Checks that an index is a field, a constant, a parameter of the action or a hash (`setup_index_operand`).
fn index_forms(program: &Program, accesses: &[Access<'_>], findings: &mut Findings) {
    for access in accesses {
        if !is_plain(access.index) {
            findings.report(access.index.span, Limit::RegisterIndex { register: name_of(program, access.register) });
        }
    }
}

/// Whether an expression is a field or constant, part of one, or one widened with constants.
pub(crate) fn is_plain(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Load(_) => true,
        ExprKind::Slice { of, .. } | ExprKind::Cast(of) => is_plain(of),
        ExprKind::Concat(high, low) => {
            let constant = |expr: &Expr| matches!(expr.kind, ExprKind::Const(_));
            constant(high) && is_plain(low) || constant(low) && is_plain(high)
        }
        _ => false,
    }
}

/// Whether two expressions are equal, apart from casts and their places in the source.
pub(crate) fn same(one: &Expr, other: &Expr) -> bool {
    match (&one.kind, &other.kind) {
        (ExprKind::Const(a), ExprKind::Const(b)) => a == b,
        (ExprKind::Load(a), ExprKind::Load(b)) => a.slot == b.slot,
        (ExprKind::Cast(a), ExprKind::Cast(b)) => same(a, b),
        (ExprKind::Cast(a), _) => same(a, other),
        (_, ExprKind::Cast(b)) => same(one, b),
        (ExprKind::Slice { of: a, hi, lo }, ExprKind::Slice { of: b, hi: other_hi, lo: other_lo }) => {
            hi == other_hi && lo == other_lo && same(a, b)
        }
        (ExprKind::Concat(a, b), ExprKind::Concat(c, d)) => same(a, c) && same(b, d),
        _ => false,
    }
}

fn name_of(program: &Program, id: RegisterId) -> String {
    program.registers[id.index()].name.clone()
}
