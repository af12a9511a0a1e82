// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables and the entries that a program declares.

use num_bigint::BigInt;

use crate::ast::Direction;
use crate::lower::names;
use crate::typed::{self, ActionId, ActionUse, Arg, Expr, ExprKind, Program, TableId};

use super::annotation;
use super::scope::ScopeId;
use super::types::declared;
use super::value::{self, Bound};
use super::walk::Walk;
use super::{ActionCall, ActionRef, Entry, Field, Key, KeySet, Property, Table, Value};

impl Walk<'_> {
    /// A table of an instance.
    pub(super) fn table(&mut self, scope: ScopeId, id: TableId) {
        let program = self.program;
        let decl = &program.tables[id.index()];
        let Some(default) = &decl.default_action else { return };
        let mut keys = Vec::with_capacity(decl.keys.len());
        for key in &decl.keys {
            let (name, ty) = (key.name.clone(), self.type_in(scope, &key.expr.ty));
            let field = Field { name, ty, annotations: annotation::describe(self.program, &key.annotations) };
            keys.push(Key { field, match_kind: program.match_kinds[key.kind].to_string() });
        }
        let mut properties = Vec::with_capacity(decl.properties.len());
        for property in &decl.properties {
            let value = self.property_value(scope, &property.value);
            let annotations = annotation::describe(self.program, &property.annotations);
            properties.push(Property { name: property.name.to_string(), annotations, value });
        }
        let actions = decl.actions.iter().map(|entry| {
            let mut annotations = annotation::describe(self.program, &entry.annotations);
            annotations.extend(entry.implied.then(|| annotation::bare("defaultonly")));
            ActionRef { action: self.action_name(scope, entry.action), annotations }
        });
        let table = Table {
            name: names::control_plane(self.path(Some(scope)), &decl.name, &decl.annotations),
            annotations: annotation::describe(self.program, &decl.annotations),
            keys,
            actions: actions.collect(),
            default_action: self.action_call(scope, decl, &default.use_),
            const_default: default.is_const,
            const_entries: decl.const_entries,
            entries: self.entries(scope, decl),
            properties,
        };
        self.out.tables.push(table);
    }

    fn property_value(&mut self, scope: ScopeId, expr: &Expr) -> Option<Value> {
        match &expr.kind {
            ExprKind::Construct(construct) => {
                let object = self.constructed(Some(scope), construct, &expr.ty)?;
                Some(Value::New(Box::new(object)))
            }
            _ => self.value(Some(scope), expr),
        }
    }

    /// The control-plane name of an action of an instance, or of the top level.
    pub(super) fn action_name(&self, scope: ScopeId, id: ActionId) -> String {
        let decl = &self.program.actions[id.index()];
        names::control_plane(self.path(decl.owner.and(Some(scope))), &decl.name, &decl.annotations)
    }

    fn action_call(&self, scope: ScopeId, table: &typed::Table, use_: &ActionUse) -> ActionCall {
        let id = table.actions[use_.index].action;
        let mut args = Vec::new();
        for (place, param) in self.program.actions[id.index()].params.iter().enumerate() {
            let given = use_.args.iter().find(|(at, _)| *at == place);
            if let (Direction::None, Some((_, Arg::Expr(expr)))) = (param.direction, given)
                && let Some(value) = self.value(Some(scope), expr)
            {
                args.push((declared(&param.name, &param.annotations), value));
            }
        }
        ActionCall { action: self.action_name(scope, id), args }
    }

    fn entries(&self, scope: ScopeId, table: &typed::Table) -> Vec<Entry> {
        let bound = &self.scopes[scope].bound;
        let priorities = priorities(self.program, table);
        let out_of_order = priorities.windows(2).any(|pair| match table.largest_priority_wins {
            true => pair[0] < pair[1],
            false => pair[0] > pair[1],
        });
        let entry = |(entry, priority): (&typed::Entry, Option<u64>)| {
            let keys = entry.keys.iter().filter_map(|set| key_set(self.program, bound, set)).collect();
            let action = self.action_call(scope, table, &entry.action);
            Entry { keys, action, priority, is_const: table.const_entries || entry.is_const }
        };
        let mut entries: Vec<Entry> = table.entries.iter().zip(priorities).map(entry).collect();
        if out_of_order && !table.const_entries {
            match table.largest_priority_wins {
                true => entries.sort_by_key(|entry| std::cmp::Reverse(entry.priority)),
                false => entries.sort_by_key(|entry| entry.priority),
            }
        }
        entries
    }
}

fn key_set(program: &Program, bound: &Bound, set: &Expr) -> Option<KeySet> {
    let value = |expr: &Expr| value::value(program, bound, expr);
    match &set.kind {
        ExprKind::Any => Some(KeySet::Any),
        ExprKind::Mask(value_of, mask) => Some(KeySet::Mask(value(value_of)?, value(mask)?)),
        ExprKind::Range(lo, hi) => Some(KeySet::Range(value(lo)?, value(hi)?)),
        _ => value(set).map(KeySet::Exact),
    }
}

/// P4Runtime's priorities, of which the largest wins. Constant entries count down to 1 (P4Runtime specification,
/// section 9.1); others have the priorities of the language (spec section 14.2.1.4).
fn priorities(program: &Program, table: &typed::Table) -> Vec<Option<u64>> {
    let count = table.entries.len();
    let ranked = |key: &typed::Key| matches!(&*program.match_kinds[key.kind], "ternary" | "range" | "optional");
    if !table.keys.iter().any(ranked) {
        return vec![None; count];
    }
    let given = table.entries.iter().any(|entry| entry.priority.is_some());
    let falling = |index: usize, step: u64| 1 + (count - 1 - index) as u64 * step;
    let step = u64::try_from(&table.priority_delta).unwrap_or(1);
    if table.const_entries {
        return (0..count).map(|index| Some(falling(index, 1))).collect();
    }
    if !given {
        let rising = |index: usize| 1 + index as u64 * step;
        let priority = |index| if table.largest_priority_wins { falling(index, step) } else { rising(index) };
        return (0..count).map(|index| Some(priority(index))).collect();
    }
    let mut current = BigInt::from(1);
    let mut out = Vec::with_capacity(count);
    for entry in &table.entries {
        if let Some(priority) = &entry.priority {
            current.clone_from(priority);
        }
        out.push(u64::try_from(&current).ok());
        match table.largest_priority_wins {
            true => current -= &table.priority_delta,
            false => current += &table.priority_delta,
        }
    }
    out
}
