// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables.

use num_bigint::{BigInt, BigUint};

use crate::diagnostics::Problem;
use crate::ir::{self, KeySet, MatchKind, SlotId, StmtKind, Ty};
use crate::source::Span;
use crate::typed::{self, ActionUse, Arg, Expr, ExprKind, TableId};

use super::expr::has_effects;
use super::fold;
use super::names;
use super::{Lowered, Lowerer};

/// Default number of entries (v1model: p4c's back end uses it if the program gives no size, or 0).
const DEFAULT_SIZE: u64 = 1024;

/// Slots that an applied table sets.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Applied {
    pub(super) hit: Option<SlotId>,
    pub(super) action_run: Option<SlotId>,
}

impl Lowerer<'_> {
    pub(super) fn apply_table(&mut self, id: TableId, span: Span) -> Lowered<()> {
        self.apply_table_for(id, false, false, span).map(|_| ())
    }

    /// Applies a table and keeps the requested results.
    pub(super) fn apply_table_for(&mut self, id: TableId, hit: bool, action_run: bool, span: Span) -> Lowered<Applied> {
        let Some(object) = self.object else { return self.internal(span, "a table outside of a control") };
        let table = match self.objects[object.0 as usize].tables.get(&id) {
            Some(table) => {
                let table = *table;
                self.evaluate_keys(id, table)?;
                table
            }
            None => {
                let table = self.table(id)?;
                self.objects[object.0 as usize].tables.insert(id, table);
                table
            }
        };
        let applied =
            Applied { hit: hit.then(|| self.temp(Ty::BOOL)), action_run: action_run.then(|| self.temp(Ty::bits(32))) };
        self.emit(StmtKind::Apply { table, hit: applied.hit, action_run: applied.action_run });
        self.resume_exit(span)?;
        Ok(applied)
    }

    /// Evaluates keys with side effects into slots of their own, before the table is applied.
    fn evaluate_keys(&mut self, id: TableId, table: ir::TableId) -> Lowered<()> {
        let program = self.program;
        for (index, key) in program.tables[id.index()].keys.iter().enumerate() {
            if has_effects(&key.expr) {
                let src = self.scalar(&key.expr)?;
                let ir::ExprKind::Load(dst) = self.out.tables[table.index()].keys[index].expr.kind.clone() else {
                    return self.internal(key.span, "the key has no slot");
                };
                self.emit(StmtKind::Assign { dst, src });
            }
        }
        Ok(())
    }

    fn table(&mut self, id: TableId) -> Lowered<ir::TableId> {
        let program = self.program;
        let decl = &program.tables[id.index()];
        let Some(object) = self.object else { return self.internal(decl.span, "a table outside of a control") };
        let path = self.objects[object.0 as usize].path.clone();
        let name = names::control_plane(&path, &decl.name, &decl.annotations);
        let keys = decl.keys.iter().map(|key| self.key(key)).collect::<Lowered<Vec<_>>>()?;
        let mut actions = Vec::with_capacity(decl.actions.len());
        for entry in &decl.actions {
            let action = self.table_action(entry.action, &entry.args)?;
            actions.push(ir::TableAction {
                action,
                default_only: entry.implied || names::has(&entry.annotations, "defaultonly"),
                table_only: names::has(&entry.annotations, "tableonly"),
            });
        }
        let Some(default) = &decl.default_action else {
            return self.internal(decl.span, "a table without a default action");
        };
        let default_action = self.action_call_data(decl, &default.use_)?;
        let entries = self.entries(decl, &keys)?;
        let properties = self.architecture.table_properties(self, decl, &name)?;
        let size = match (entries.len() as u64, properties.size) {
            (0, size) => size.filter(|&size| size > 0).unwrap_or(DEFAULT_SIZE),
            (count, _) => count,
        };
        let table = ir::Table {
            name,
            keys,
            actions,
            default_action,
            const_default: default.is_const,
            entries,
            const_entries: decl.const_entries || !decl.entries.is_empty(),
            size,
            direct_counter: properties.direct_counter,
            direct_meter: properties.direct_meter,
            profile: properties.profile,
            annotations: names::annotations(&decl.annotations),
            span: decl.span,
        };
        self.out.tables.push(table);
        Ok(ir::TableId(self.out.tables.len() as u32 - 1))
    }

    fn key(&mut self, key: &typed::Key) -> Lowered<ir::Key> {
        let mut expr = self.scalar(&key.expr)?;
        if has_effects(&key.expr) {
            expr = self.freeze_scalar(expr)?;
        }
        let kind = match &*self.program.match_kinds[key.kind] {
            "exact" => MatchKind::Exact,
            "lpm" => MatchKind::Lpm,
            "ternary" => MatchKind::Ternary,
            "range" => MatchKind::Range,
            "optional" => MatchKind::Optional,
            "selector" => MatchKind::Selector,
            other => {
                let what = format!("match kind `{other}`");
                return self.unsupported(key.span, what);
            }
        };
        Ok(ir::Key { name: key.name.clone(), expr, kind, annotations: names::annotations(&key.annotations) })
    }

    /// An action with values for the parameters that the control plane would supply.
    fn action_call_data(&mut self, decl: &typed::Table, use_: &ActionUse) -> Lowered<ir::ActionCall> {
        let program = self.program;
        let action = &program.actions[decl.actions[use_.index].action.index()];
        let mut args = Vec::new();
        for (index, param) in action.params.iter().enumerate() {
            if param.direction != crate::ast::Direction::None {
                continue;
            }
            let given = use_.args.iter().find(|(place, _)| *place == index);
            let value = match (given, &param.default) {
                (Some((_, Arg::Expr(expr))), _) | (None, Some(expr)) => self.scalar(expr)?,
                _ => return self.internal(use_.span, "an argument is missing"),
            };
            let Some(ty) = self.scalar_type_of(&param.ty) else {
                return self.internal(use_.span, "an action parameter that is not a scalar");
            };
            let ir::ExprKind::Const(image) = fold::cast(value, ty, use_.span).kind else {
                return self.fail(use_.span, Problem::NotConstant {});
            };
            args.push(image);
        }
        Ok(ir::ActionCall { action: use_.index as u32, args })
    }

    fn entries(&mut self, decl: &typed::Table, keys: &[ir::Key]) -> Lowered<Vec<ir::Entry>> {
        let priorities = self.priorities(decl, keys)?;
        // All entries are lowered before an error in one of them ends the lowering.
        let lowered: Vec<Lowered<ir::Entry>> = decl
            .entries
            .iter()
            .zip(priorities)
            .map(|(entry, priority)| self.entry(decl, entry, priority, keys))
            .collect();
        let mut entries: Vec<ir::Entry> = lowered.into_iter().collect::<Lowered<_>>()?;
        entries.sort_by_key(|entry| entry.priority);
        Ok(entries)
    }

    fn entry(
        &mut self,
        decl: &typed::Table,
        entry: &typed::Entry,
        priority: u32,
        keys: &[ir::Key],
    ) -> Lowered<ir::Entry> {
        let sets =
            entry.keys.iter().zip(keys).map(|(set, key)| self.entry_set(set, key)).collect::<Lowered<Vec<_>>>()?;
        let call = self.action_call_data(decl, &entry.action)?;
        Ok(ir::Entry { keys: sets, call, priority, span: entry.span })
    }

    /// BMv2's priorities, of which the smallest wins: ranks in source order for `const` entries, unless `@priority`
    /// gives one; otherwise ranks in the order of P4's own priorities (spec section 14.2.1.4).
    fn priorities(&mut self, decl: &typed::Table, keys: &[ir::Key]) -> Lowered<Vec<u32>> {
        let count = decl.entries.len() as u32;
        let exact = keys.iter().all(|key| matches!(key.kind, MatchKind::Exact | MatchKind::Lpm | MatchKind::Selector));
        let given = decl.entries.iter().find(|entry| entry.priority.is_some());
        if let (true, Some(entry)) = (exact, given) {
            return self.fail(entry.span, Problem::PriorityNotNeeded {});
        }
        if decl.const_entries || exact || given.is_none() {
            let annotated = |entry: &typed::Entry| {
                let annotation = entry.annotations.iter().find(|annotation| &*annotation.name.name == "priority")?;
                let crate::ast::AnnotationBody::Tokens(tokens) = &annotation.body else { return None };
                match tokens.first().map(|token| &token.kind) {
                    Some(crate::token::TokenKind::Int(literal)) => u32::try_from(&literal.value).ok(),
                    _ => None,
                }
            };
            return Ok((1..=count)
                .zip(&decl.entries)
                .map(|(place, entry)| annotated(entry).unwrap_or(place))
                .collect());
        }
        let mut current = BigInt::from(1);
        let mut own = Vec::with_capacity(decl.entries.len());
        for (index, entry) in decl.entries.iter().enumerate() {
            match &entry.priority {
                Some(priority) => current.clone_from(priority),
                None if index == 0 => return self.fail(entry.span, Problem::FirstPriority {}),
                None => {}
            }
            if current < BigInt::ZERO {
                return self.fail(entry.span, Problem::PriorityRange { priority: current.to_string() });
            }
            own.push(current.clone());
            match decl.largest_priority_wins {
                true => current -= &decl.priority_delta,
                false => current += &decl.priority_delta,
            }
        }
        let mut order: Vec<usize> = (0..own.len()).collect();
        match decl.largest_priority_wins {
            true => order.sort_by(|a, b| own[*b].cmp(&own[*a])),
            false => order.sort_by(|a, b| own[*a].cmp(&own[*b])),
        }
        let mut ranks = vec![0; own.len()];
        for (rank, index) in order.into_iter().enumerate() {
            ranks[index] = rank as u32 + 1;
        }
        Ok(ranks)
    }

    fn entry_set(&mut self, expr: &Expr, key: &ir::Key) -> Lowered<KeySet> {
        let set = self.key_set(expr, key.expr.ty)?;
        // Match kinds with masks take a value as a full mask; the mask of `lpm` must be a prefix.
        if let (KeySet::Mask { mask, .. }, MatchKind::Lpm) = (&set, key.kind)
            && !is_prefix(mask, key.expr.ty.width)
        {
            return self.fail(expr.span, Problem::NotAPrefix {});
        }
        Ok(set)
    }

    /// A set of values of a scalar type.
    pub(super) fn key_set(&mut self, set: &Expr, ty: Ty) -> Lowered<KeySet> {
        match &set.kind {
            ExprKind::Any => Ok(KeySet::Any),
            ExprKind::Mask(value, mask) => {
                let (value, mask) = (self.image(value, ty)?, self.image(mask, ty)?);
                Ok(KeySet::Mask { value: value & &mask, mask })
            }
            ExprKind::Range(lo, hi) => {
                let (lo, hi) = (self.image(lo, ty)?, self.image(hi, ty)?);
                Ok(KeySet::Range { lo, hi })
            }
            _ => Ok(KeySet::Value(self.image(set, ty)?)),
        }
    }

    /// The unsigned image of a constant.
    fn image(&mut self, expr: &Expr, ty: Ty) -> Lowered<BigUint> {
        let value = self.expr(expr)?;
        let scalar = self.scalar_of(value, ty, expr.span)?;
        match fold::cast(scalar, ty, expr.span).kind {
            ir::ExprKind::Const(image) => Ok(image),
            _ => self.fail(expr.span, Problem::NotConstant {}),
        }
    }
}

/// Whether a mask is ones followed by zeros.
fn is_prefix(mask: &BigUint, width: u32) -> bool {
    let ones = u64::from(width) - mask.trailing_zeros().unwrap_or(u64::from(width));
    mask.count_ones() == ones
}
