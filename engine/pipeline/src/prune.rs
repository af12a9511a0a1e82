// SPDX-License-Identifier: MIT OR Apache-2.0
//! Removes computations whose results are never used.
//!
//! A program written for many schemes computes more than one scheme reads: all queue signals, for example. A value that
//! is never read need not be computed. A metadata field that the program no longer mentions takes no space in a
//! packet's state, and the switch need not fill it in.

use marklab_p4::ir::{BinaryOp, BlockId, Class, Expr, ExprKind, Program, SlotId, Stmt, visit};

/// Fields that the switch reads after the program has run.
const READ_BY_SWITCH: [&str; 12] = [
    "standard_metadata.egress_spec",
    "standard_metadata.mcast_grp",
    "standard_metadata.priority",
    "queueing_metadata.qid",
    "ig_intr_md_for_dprsr.drop_ctl",
    "ig_intr_md_for_tm.ucast_egress_port",
    "ig_intr_md_for_tm.bypass_egress",
    "ig_intr_md_for_tm.ingress_cos",
    "ig_intr_md_for_tm.qid",
    "ig_intr_md_for_tm.mcast_grp_a",
    "ig_intr_md_for_tm.mcast_grp_b",
    "eg_intr_md_for_dprsr.drop_ctl",
];

/// Returns the program without statements whose only effect is a value that is never used, and without metadata that no
/// remaining statement mentions. The effects on packets, tables, registers and counters stay the same.
pub fn prune(program: &Program) -> Program {
    let mut program = program.clone();
    let live = live_slots(&program);
    for body in visit::bodies_mut(&mut program) {
        prune_body(body, &live);
    }
    let mentioned = mentioned_slots(&program);
    program.intrinsics.retain(|(_, slot)| mentioned[slot.index()]);
    for (slot, mentioned) in program.slots.iter_mut().zip(mentioned) {
        if !mentioned {
            // Ids do not change: an unused local costs nothing.
            slot.class = Class::Local(BlockId(0));
        }
    }
    program
}

fn prune_body(body: &mut Vec<Stmt>, live: &[bool]) {
    body.retain(|stmt| !is_dead(stmt, live));
    for stmt in body {
        for inner in visit::inner_bodies_mut(stmt) {
            prune_body(inner, live);
        }
    }
}

/// Whether a statement only computes a value that is never used.
fn is_dead(stmt: &Stmt, live: &[bool]) -> bool {
    visit::destination(stmt).is_some_and(|place| !live[place.slot.index()])
        && visit::operands(stmt).into_iter().all(has_no_effect)
}

/// Whether an expression neither ends parsing nor counts a fault.
fn has_no_effect(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::PacketLength => true,
        ExprKind::Load(place) => place.index.as_ref().is_none_or(|index| has_no_effect(&index.expr)),
        ExprKind::Lookahead { .. } | ExprKind::Binary(BinaryOp::Div | BinaryOp::Mod, ..) => false,
        ExprKind::Unary(_, of) | ExprKind::Cast(of) | ExprKind::Slice { of, .. } => has_no_effect(of),
        ExprKind::Binary(_, left, right) | ExprKind::Concat(left, right) => has_no_effect(left) && has_no_effect(right),
        ExprKind::Mux { cond, then, otherwise } => [cond, then, otherwise].into_iter().all(|part| has_no_effect(part)),
    }
}

/// Slots whose value is used: by the switch, as part of a header, by a statement that has another effect, or to compute
/// such a value.
fn live_slots(program: &Program) -> Vec<bool> {
    let mut live = kept_slots(program);
    for key in visit::keys(&program.blocks, &program.tables) {
        visit::loads(key, &mut |slot| live[slot.index()] = true);
    }
    loop {
        let before = live.clone();
        for body in visit::bodies(&program.blocks, &program.actions, &program.register_actions) {
            visit::statements(body, &mut |stmt| {
                if !is_dead(stmt, &before) {
                    for operand in visit::operands(stmt) {
                        visit::loads(operand, &mut |slot| live[slot.index()] = true);
                    }
                }
            });
        }
        if live == before {
            return live;
        }
    }
}

/// Slots of headers and stacks, values of register actions, and fields that the switch reads.
fn kept_slots(program: &Program) -> Vec<bool> {
    let mut kept = vec![false; program.slots.len()];
    let mut keep = |slot: SlotId| kept[slot.index()] = true;
    for header in &program.headers {
        keep(header.valid);
        header.fields.iter().copied().for_each(&mut keep);
    }
    program.stacks.iter().for_each(|stack| keep(stack.next_index));
    READ_BY_SWITCH.iter().filter_map(|name| program.intrinsic(name)).for_each(&mut keep);
    // Field lists: their fields outlive the packet in its clones.
    program.intrinsics.iter().filter(|(name, _)| name.starts_with('@')).for_each(|&(_, slot)| keep(slot));
    program.slots.iter().filter_map(|slot| slot.varbit_width).for_each(&mut keep);
    // The values that a register action leaves go back to its cell.
    program
        .register_actions
        .iter()
        .flat_map(|action| action.value.iter().chain(&action.returned))
        .copied()
        .for_each(keep);
    kept
}

/// Slots that a program mentions or the switch reads.
fn mentioned_slots(program: &Program) -> Vec<bool> {
    let mut mentioned = kept_slots(program);
    // A look-up fills in the parameters of the action, even if the action does not read them.
    let params = program.actions.iter().flat_map(|action| &action.params);
    params.for_each(|param| mentioned[param.slot.index()] = true);
    for key in visit::keys(&program.blocks, &program.tables) {
        visit::loads(key, &mut |slot| mentioned[slot.index()] = true);
    }
    for body in visit::bodies(&program.blocks, &program.actions, &program.register_actions) {
        visit::statements(body, &mut |stmt| {
            for operand in visit::operands(stmt) {
                visit::loads(operand, &mut |slot| mentioned[slot.index()] = true);
            }
            for slot in visit::written(stmt) {
                mentioned[slot.index()] = true;
            }
        });
    }
    mentioned
}
