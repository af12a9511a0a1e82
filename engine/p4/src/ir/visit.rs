// SPDX-License-Identifier: MIT OR Apache-2.0
//! Walks over a program's statements and expressions: the only code that knows how they nest.

use super::{
    Action, Block, BlockBody, Checksum, Expr, ExprKind, ExternCall, HeaderRef, Index, Place, Program, RegisterAction,
    SlotId, Stmt, StmtKind, Table, Transition,
};

/// All outermost lists of statements of a program: controls, parser states, actions.
pub fn bodies<'a>(
    blocks: &'a [Block],
    actions: &'a [Action],
    register_actions: &'a [RegisterAction],
) -> Vec<&'a [Stmt]> {
    let mut bodies: Vec<&'a [Stmt]> = Vec::new();
    for block in blocks {
        match &block.body {
            BlockBody::Control(body) => bodies.push(body),
            BlockBody::Parser(parser) => bodies.extend(parser.states.iter().map(|state| &state.body[..])),
        }
    }
    bodies.extend(actions.iter().map(|action| &action.body[..]));
    bodies.extend(register_actions.iter().map(|action| &action.body[..]));
    bodies
}

/// The same, mutable.
pub fn bodies_mut(program: &mut Program) -> Vec<&mut Vec<Stmt>> {
    let mut bodies: Vec<&mut Vec<Stmt>> = Vec::new();
    for block in &mut program.blocks {
        match &mut block.body {
            BlockBody::Control(body) => bodies.push(body),
            BlockBody::Parser(parser) => bodies.extend(parser.states.iter_mut().map(|state| &mut state.body)),
        }
    }
    bodies.extend(program.actions.iter_mut().map(|action| &mut action.body));
    bodies.extend(program.register_actions.iter_mut().map(|action| &mut action.body));
    bodies
}

/// Expressions outside of statements: keys of `select`s and tables.
pub fn keys<'a>(blocks: &'a [Block], tables: &'a [Table]) -> Vec<&'a Expr> {
    let mut keys: Vec<&'a Expr> = tables.iter().flat_map(|table| &table.keys).map(|key| &key.expr).collect();
    for block in blocks {
        if let BlockBody::Parser(parser) = &block.body {
            for state in &parser.states {
                if let Transition::Select { keys: select, .. } = &state.next {
                    keys.extend(select);
                }
            }
        }
    }
    keys
}

/// Visits every statement of a list, including nested ones.
pub fn statements<'a>(body: &'a [Stmt], visit: &mut dyn FnMut(&'a Stmt)) {
    for stmt in body {
        visit(stmt);
        for inner in inner_bodies(stmt) {
            statements(inner, visit);
        }
    }
}

/// Whether any statement of these lists, at any depth, satisfies a condition.
pub fn any_statement<'a>(bodies: impl IntoIterator<Item = &'a [Stmt]>, holds: &dyn Fn(&StmtKind) -> bool) -> bool {
    let mut found = false;
    for body in bodies {
        statements(body, &mut |stmt| found |= holds(&stmt.kind));
    }
    found
}

/// Lists of statements inside a statement.
fn inner_bodies(stmt: &Stmt) -> Vec<&[Stmt]> {
    match &stmt.kind {
        StmtKind::If { then, otherwise, .. } => vec![then, otherwise],
        StmtKind::Switch { cases, default, .. } => {
            cases.iter().map(|(_, body)| &body[..]).chain([&default[..]]).collect()
        }
        StmtKind::Block { body, .. } | StmtKind::Loop { body, .. } => vec![body],
        _ => Vec::new(),
    }
}

/// The same, mutable.
pub fn inner_bodies_mut(stmt: &mut Stmt) -> Vec<&mut Vec<Stmt>> {
    match &mut stmt.kind {
        StmtKind::If { then, otherwise, .. } => vec![then, otherwise],
        StmtKind::Switch { cases, default, .. } => cases.iter_mut().map(|(_, body)| body).chain([default]).collect(),
        StmtKind::Block { body, .. } | StmtKind::Loop { body, .. } => vec![body],
        _ => Vec::new(),
    }
}

/// The destination of a statement that only computes a value.
pub fn destination(stmt: &Stmt) -> Option<&Place> {
    match &stmt.kind {
        StmtKind::Assign { dst, .. } => Some(dst),
        StmtKind::Extern(call) if call.only_computes() => call.written(),
        _ => None,
    }
}

/// Slots that a statement itself writes, except those of headers.
pub fn written(stmt: &Stmt) -> Vec<SlotId> {
    match &stmt.kind {
        StmtKind::Apply { hit, action_run, .. } => hit.iter().chain(action_run).copied().collect(),
        StmtKind::Assign { dst, .. } => vec![dst.slot],
        StmtKind::Extern(call) => call.written().map(|place| place.slot).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Expressions that a statement itself evaluates.
pub fn operands(stmt: &Stmt) -> Vec<&Expr> {
    let mut operands = Vec::new();
    let mut indices: Vec<&Place> = destination(stmt).into_iter().collect();
    match &stmt.kind {
        StmtKind::Assign { src, .. } => operands.push(src),
        StmtKind::If { cond, .. } => operands.push(cond),
        StmtKind::Switch { value, .. } => operands.push(value),
        StmtKind::Advance(bits) => operands.push(bits),
        StmtKind::Verify { cond, error } => operands.extend([cond, error]),
        StmtKind::SetValid(header) | StmtKind::SetInvalid(header) => operands.extend(header_index(header)),
        StmtKind::Extract { header, varbit_width } => {
            operands.extend(header_index(header));
            operands.extend(varbit_width);
        }
        StmtKind::ExtractNext { varbit_width, .. } => operands.extend(varbit_width),
        StmtKind::Extern(call) => call_operands(call, &mut operands, &mut indices),
        _ => {}
    }
    operands.extend(indices.into_iter().filter_map(|place| place.index.as_ref()).map(|index| &*index.expr));
    operands
}

fn header_index(header: &HeaderRef) -> Option<&Expr> {
    header.index.as_ref().map(|index| &*index.expr)
}

fn call_operands<'a>(call: &'a ExternCall, operands: &mut Vec<&'a Expr>, places: &mut Vec<&'a Place>) {
    match call {
        ExternCall::RegisterRead { index, .. } | ExternCall::Count { index, .. } => operands.push(index),
        ExternCall::RegisterWrite { index, value, .. } => operands.extend([index, value]),
        ExternCall::ExecuteMeter { dst, index, .. } => {
            places.push(dst);
            operands.push(index);
        }
        ExternCall::Random { dst, lo, hi } => {
            places.push(dst);
            operands.extend([lo, hi]);
        }
        ExternCall::DirectMeterRead { dst, .. } => places.push(dst),
        ExternCall::Hash { base, data, max, .. } => {
            operands.extend([base, max]);
            operands.extend(data.iter().map(|field| &field.expr));
        }
        ExternCall::VerifyChecksum(checksum) | ExternCall::UpdateChecksum(checksum) => {
            let Checksum { condition, data, field, .. } = checksum;
            operands.push(condition);
            operands.extend(data.iter().map(|field| &field.expr));
            places.push(field);
        }
        ExternCall::ExecuteRegister { index, dst, .. } => {
            operands.push(index);
            places.extend(dst);
        }
        ExternCall::Math { input, .. } => operands.push(input),
        ExternCall::Filter { dst, value, index, .. } => {
            places.push(dst);
            operands.extend([value, index]);
        }
        ExternCall::ChecksumAdd { sum, data, .. } => {
            places.push(sum);
            operands.extend(data.iter().map(|field| &field.expr));
        }
        ExternCall::Request(request) => operands.extend(request.operands()),
        ExternCall::DirectCount { .. } | ExternCall::MarkToDrop => {}
    }
}

/// Visits an expression and all its subexpressions.
pub fn parts(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    visit(expr);
    match &expr.kind {
        ExprKind::Load(place) => place.index.iter().for_each(|index| parts(&index.expr, visit)),
        ExprKind::Unary(_, of) | ExprKind::Cast(of) | ExprKind::Slice { of, .. } => parts(of, visit),
        ExprKind::Binary(_, left, right) | ExprKind::Concat(left, right) => {
            [left, right].into_iter().for_each(|part| parts(part, visit));
        }
        ExprKind::Mux { cond, then, otherwise } => {
            [cond, then, otherwise].into_iter().for_each(|part| parts(part, visit));
        }
        ExprKind::Const(_) | ExprKind::Lookahead { .. } | ExprKind::PacketLength => {}
    }
}

/// Visits every slot that an expression reads.
pub fn loads(expr: &Expr, visit: &mut dyn FnMut(SlotId)) {
    parts(expr, &mut |part| {
        if let ExprKind::Load(place) = &part.kind {
            visit(place.slot);
        }
    });
}

/// An expression with some parts replaced. Where `replace` returns `None`, it is tried on the parts.
pub fn rewritten(expr: &Expr, replace: &mut dyn FnMut(&Expr) -> Option<Expr>) -> Expr {
    if let Some(replaced) = replace(expr) {
        return replaced;
    }
    let mut new = |of: &Expr| Box::new(rewritten(of, replace));
    let kind = match &expr.kind {
        ExprKind::Load(Place { slot, index }) => {
            let index = index.as_ref().map(|index| Index { expr: new(&index.expr), ..*index });
            ExprKind::Load(Place { slot: *slot, index })
        }
        ExprKind::Unary(op, of) => ExprKind::Unary(*op, new(of)),
        ExprKind::Binary(op, left, right) => ExprKind::Binary(*op, new(left), new(right)),
        ExprKind::Mux { cond, then, otherwise } => {
            ExprKind::Mux { cond: new(cond), then: new(then), otherwise: new(otherwise) }
        }
        ExprKind::Slice { of, hi, lo } => ExprKind::Slice { of: new(of), hi: *hi, lo: *lo },
        ExprKind::Concat(high, low) => ExprKind::Concat(new(high), new(low)),
        ExprKind::Cast(of) => ExprKind::Cast(new(of)),
        ExprKind::Const(_) | ExprKind::Lookahead { .. } | ExprKind::PacketLength => return expr.clone(),
    };
    Expr { kind, ..*expr }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;
    use crate::ir::{BinaryOp, Ty, UnaryOp};
    use crate::source::Span;

    fn of(kind: ExprKind) -> Expr {
        Expr { kind, ty: Ty::bits(8), span: Span::default() }
    }

    fn load(slot: u32) -> Expr {
        of(ExprKind::Load(Place { slot: SlotId(slot), index: None }))
    }

    #[test]
    fn rewriting_reaches_each_part_once_and_leaves_the_rest() {
        let negated = |slot| of(ExprKind::Unary(UnaryOp::Neg, Box::new(load(slot))));
        let sum = |left: Expr| of(ExprKind::Binary(BinaryOp::Add, Box::new(left), Box::new(load(2))));
        let constant = of(ExprKind::Const(BigUint::from(7u32)));
        let mut replace = |part: &Expr| match &part.kind {
            // A replacement is not visited again.
            ExprKind::Load(place) if place.slot == SlotId(1) => Some(sum(load(1))),
            _ => None,
        };
        let rewrite = |expr: &Expr, replace: &mut dyn FnMut(&Expr) -> Option<Expr>| rewritten(expr, replace);
        let expected = of(ExprKind::Unary(UnaryOp::Neg, Box::new(sum(load(1)))));
        assert_eq!(rewrite(&negated(1), &mut replace), expected);
        assert_eq!(rewrite(&sum(negated(3)), &mut replace), sum(negated(3)));
        assert_eq!(rewrite(&constant, &mut replace), constant);
    }
}
