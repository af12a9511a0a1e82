// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables (spec section 14.2).

use num_bigint::BigInt;

use crate::ast::{
    ActionRef, Argument, Direction, EntryDecl, ExprKind as Ast, KeyElement, Property as AstProperty, PropertyValue,
    TableDecl,
};
use crate::diagnostics::Problem;
use crate::source::Span;
use crate::typed::{
    ActionId, ActionListEntry, ActionUse, Arg, Args, Callee, DefaultAction, Entry, Expr, ExprKind, Key, Param,
    Property, Table, TableId,
};
use crate::types::Type;

use super::annotation::string;
use super::scope::nearest;
use super::{Checker, Place, Symbol};

impl Checker<'_> {
    pub(super) fn table(&mut self, decl: &TableDecl) -> TableId {
        self.annotations(&decl.annotations);
        self.duplicate_properties(decl);
        let id = TableId(self.program.tables.len() as u32);
        self.program.tables.push(Table {
            name: decl.name.name.clone(),
            span: decl.name.span,
            annotations: decl.annotations.clone(),
            keys: Vec::new(),
            actions: Vec::new(),
            default_action: None,
            entries: Vec::new(),
            const_entries: false,
            largest_priority_wins: true,
            priority_delta: BigInt::from(1),
            properties: Vec::new(),
        });
        // Visible from here on, so that the table's own name in a key is reported and not resolved to something else.
        self.declare(&decl.name, Symbol::Table(id));
        self.property_order(decl);
        let outer = self.table.replace(id);
        self.within(Place::Table, |checker| {
            // Keys and actions come first: entries and the default action refer to them.
            for property in &decl.properties {
                match &property.value {
                    PropertyValue::Key(keys) => checker.keys(id, keys),
                    PropertyValue::Actions(actions) => checker.action_list(id, actions),
                    PropertyValue::Expr(_) if &*property.name.name == "actions" || &*property.name.name == "key" => {
                        let problem = Problem::PropertyType { name: property.name.name.clone() };
                        checker.error(property.name.span, problem);
                    }
                    _ => {}
                }
            }
            if !decl.properties.iter().any(|property| matches!(property.value, PropertyValue::Actions(_))) {
                checker.error(decl.name.span, Problem::NoActions { table: decl.name.name.clone() });
            }
            for property in &decl.properties {
                checker.property(id, property);
            }
            for property in &decl.properties {
                if let PropertyValue::Entries(entries) = &property.value {
                    checker.entries(id, entries, property);
                }
            }
        });
        self.table = outer;
        if !decl.properties.iter().any(|property| &*property.name.name == "default_action") {
            self.imply_no_action(id);
        }
        id
    }

    /// Gives a table without a default action `NoAction` of the core library (spec section 14.2.1.3).
    fn imply_no_action(&mut self, id: TableId) {
        let span = self.program.tables[id.index()].span;
        let found = self.scopes.find("NoAction", true);
        let action = match found.map(|entry| &entry.symbol) {
            Some(&Symbol::Action(action)) if self.program.actions[action.index()].params.is_empty() => action,
            _ => {
                let other = found.map(|entry| entry.span);
                let mut entry = self.diagnostics.error(span, Problem::NoDefaultAction {});
                if let Some(other) = other {
                    entry = entry.label(other, "this is not an action without parameters");
                }
                return entry.help("include `core.p4`, which declares it").done();
            }
        };
        let table = &mut self.program.tables[id.index()];
        let index = table.actions.iter().position(|entry| entry.action == action).unwrap_or_else(|| {
            let (args, annotations) = (Vec::new(), Vec::new());
            table.actions.push(ActionListEntry { action, args, annotations, implied: true, span });
            table.actions.len() - 1
        });
        let use_ = ActionUse { index, args: Vec::new(), span };
        table.default_action = Some(DefaultAction { use_, is_const: false });
    }

    /// Checks that entries and the default action come after the properties to which they refer.
    fn property_order(&mut self, decl: &TableDecl) {
        let find = |name: &str| decl.properties.iter().enumerate().find(|(_, property)| &*property.name.name == name);
        for (first, second) in [("key", "entries"), ("actions", "default_action"), ("actions", "entries")] {
            let (Some((a, before)), Some((b, after))) = (find(first), find(second)) else { continue };
            if a > b {
                let span = before.name.span;
                let problem = Problem::PropertyOrder { property: after.name.name.clone(), before: first };
                self.diagnostics.error(after.name.span, problem).label(span, "this must come first");
            }
        }
    }

    fn duplicate_properties(&mut self, decl: &TableDecl) {
        for (index, property) in decl.properties.iter().enumerate() {
            self.annotations(&property.annotations);
            if let Some(first) = decl.properties[..index].iter().find(|other| other.name.name == property.name.name) {
                let problem = Problem::Duplicate { name: property.name.name.clone() };
                self.diagnostics.error(property.name.span, problem).label(first.name.span, "first given here");
            }
        }
    }

    fn keys(&mut self, table: TableId, keys: &[KeyElement]) {
        for key in keys {
            self.annotations(&key.annotations);
            let expr = self.expr(&key.expr);
            let expr = self.value_only(expr);
            let below = self.unwrap_newtype(&expr.ty);
            if !matches!(below, Type::Bits { .. } | Type::Bool | Type::Error | Type::Enum(_) | Type::Poison) {
                let problem = Problem::KeyType { ty: self.show(&expr.ty) };
                self.error(expr.span, problem);
            }
            let kind = self.program.match_kinds.iter().position(|kind| *kind == key.kind.name);
            if kind.is_none() {
                let near = nearest(&key.kind.name, self.program.match_kinds.iter().map(|kind| &**kind));
                let problem = Problem::UnknownMatchKind { name: key.kind.name.clone() };
                let entry = self.diagnostics.error(key.kind.span, problem);
                if let Some(near) = near {
                    entry.help(format!("did you mean `{near}`?"));
                }
            }
            let named = string(&key.annotations, "name");
            let name = match named.or_else(|| self.key_name(&expr)) {
                Some(name) => name,
                None if expr.ty.is_poison() => String::new(),
                None => {
                    let entry = self.diagnostics.error(expr.span, Problem::KeyNeedsName {});
                    entry.help("add `@name(\"...\")` after the match kind");
                    String::new()
                }
            };
            let (annotations, span) = (key.annotations.clone(), key.expr.span);
            let key = Key { expr, kind: kind.unwrap_or(0), name, annotations, span };
            self.program.tables[table.index()].keys.push(key);
        }
    }

    /// The control plane's name for a key: its expression, if that is a path (p4c: `TableKeyNames`).
    fn key_name(&self, expr: &Expr) -> Option<String> {
        Some(match &expr.kind {
            ExprKind::Var(id) => self.program.vars[id.index()].name.to_string(),
            ExprKind::Const(id) => self.program.consts[id.index()].name.to_string(),
            ExprKind::Int(value) => match self.literal_text(expr.span) {
                Some(text) => text.clone(),
                None => value.to_string(),
            },
            ExprKind::Field(of, index) => {
                let Type::Fields(id, _) = &of.ty else { return None };
                let field = &self.program.fields(*id).fields[*index as usize];
                let name = string(&field.annotations, "name").unwrap_or_else(|| field.name.to_string());
                match name.strip_prefix('.') {
                    Some(global) => global.to_string(),
                    None => format!("{}.{name}", self.key_name(of)?),
                }
            }
            ExprKind::Element(of, index) => format!("{}[{}]", self.key_name(of)?, self.key_name(index)?),
            ExprKind::Slice(of, hi, lo) => format!("{}[{hi}:{lo}]", self.key_name(of)?),
            ExprKind::Binary(crate::ast::BinaryOp::BitAnd, left, right) => {
                format!("{} & {}", self.key_name(left)?, self.key_name(right)?)
            }
            ExprKind::Cast(of) if matches!(of.ty, Type::Enum(_)) => self.key_name(of)?,
            ExprKind::Call(call) => match &call.callee {
                Callee::Builtin(crate::typed::Builtin::IsValid, of) => format!("{}.$valid$", self.key_name(of)?),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// The action of a reference.
    fn action_named(&mut self, action: &ActionRef) -> Option<ActionId> {
        let path = &action.path;
        let entry = self.scopes.find(&path.name.name, path.absolute).cloned();
        if let Some(entry) = &entry {
            self.note_entry(&path.name, entry);
        }
        match entry.map(|entry| entry.symbol) {
            Some(Symbol::Action(id)) => Some(id),
            Some(Symbol::Poison) => None,
            Some(other) => {
                let problem = Problem::NotAnAction { name: path.name.name.clone(), what: other.what() };
                self.error(path.name.span, problem);
                None
            }
            None if self.is_probe(&path.name, Self::visible) => None,
            None => {
                let near = self.scopes.nearest(&path.name.name, |symbol| matches!(symbol, Symbol::Action(_)));
                let problem = Problem::UnknownAction { name: path.name.name.clone() };
                self.unknown(&path.name, problem, near);
                None
            }
        }
    }

    fn action_list(&mut self, table: TableId, actions: &[ActionRef]) {
        self.broken_actions = false;
        for action in actions {
            self.annotations(&action.annotations);
            let Some(id) = self.action_named(action) else {
                self.broken_actions = true;
                continue;
            };
            let entries = &self.program.tables[table.index()].actions;
            if let Some(first) = entries.iter().find(|entry| entry.action == id) {
                let problem = Problem::Duplicate { name: action.path.name.name.clone() };
                self.diagnostics.error(action.span, problem).label(first.span, "already in the list");
                continue;
            }
            let params = self.program.actions[id.index()].params.clone();
            let bound: Vec<Param> = params.iter().filter(|param| param.direction != Direction::None).cloned().collect();
            let given = action.args.as_deref().unwrap_or_default();
            if given.len() > bound.len() && given.iter().all(|arg| arg.name.is_none()) && given.len() <= params.len() {
                let param = params[bound.len()].name.clone();
                self.error(given[bound.len()].span, Problem::ControlPlaneParam { param });
                continue;
            }
            let Some(args) = self.action_args(id, &bound, given, action.span) else { continue };
            let (annotations, span) = (action.annotations.clone(), action.span);
            let entry = ActionListEntry { action: id, args, annotations, implied: false, span };
            self.program.tables[table.index()].actions.push(entry);
        }
    }

    /// Checks and converts arguments for some parameters of an action.
    fn action_args(&mut self, id: ActionId, params: &[Param], given: &[Argument], span: Span) -> Option<Args> {
        let action = &self.program.actions[id.index()];
        let (name, declared) = (action.name.clone(), action.span);
        let all = action.params.clone();
        let places = self.match_arguments(&name, declared, params, given, span)?;
        let mut args = Vec::with_capacity(given.len());
        for (arg, place) in given.iter().zip(places) {
            let param = &params[place];
            let Some(value) = &arg.value else {
                self.error(arg.span, Problem::IgnoredArgument { param: param.name.clone() });
                return None;
            };
            let value = self.within(Place::ActionArgument, |checker| checker.expr_as(value, &param.ty));
            if value.ty.is_poison() {
                return None;
            }
            if param.direction.writes() && !self.is_lvalue(&value) {
                let direction = param.direction.text();
                self.error(value.span, Problem::ArgumentNotWritable { direction, param: param.name.clone() });
                return None;
            }
            if param.direction == Direction::None && !self.is_known(&value) {
                self.error(value.span, Problem::ArgumentNotKnown { param: param.name.clone() });
                return None;
            }
            let place = all.iter().position(|known| known.var == param.var).expect("taken from this list");
            args.push((place, Arg::Expr(value)));
        }
        Some(args)
    }

    /// An action of the list with all arguments, as a default action or in an entry.
    fn action_use(&mut self, table: TableId, action: &ActionRef, flag: &'static str) -> Option<ActionUse> {
        let id = self.action_named(action)?;
        let decl = &self.program.tables[table.index()];
        let Some(index) = decl.actions.iter().position(|entry| entry.action == id) else {
            let declared = decl.span;
            if self.broken_actions {
                return None;
            }
            let problem = Problem::NotInActionList { action: action.path.name.name.clone() };
            self.diagnostics.error(action.span, problem).label(declared, "the table");
            return None;
        };
        let entry = decl.actions[index].clone();
        if let Some(annotation) = entry.annotations.iter().find(|annotation| &*annotation.name.name == flag) {
            let span = annotation.name.span;
            let problem = Problem::ActionNotHere { action: action.path.name.name.clone(), annotation: flag };
            self.diagnostics.error(action.span, problem).label(span, "marked here");
            return None;
        }
        let params = self.program.actions[id.index()].params.clone();
        let given = action.args.as_deref().unwrap_or_default();
        let args = self.action_args(id, &params, given, action.span)?;
        for (place, bound) in &entry.args {
            let (Arg::Expr(bound), Some((_, Arg::Expr(again)))) = (bound, args.iter().find(|(at, _)| at == place))
            else {
                continue;
            };
            if !same_expr(bound, again) {
                let (span, first) = (again.span, bound.span);
                self.diagnostics.error(span, Problem::BoundDifferently {}).label(first, "bound here");
            }
        }
        Some(ActionUse { index, args, span: action.span })
    }

    fn property(&mut self, table: TableId, property: &AstProperty) {
        let name = &*property.name.name;
        match (&property.value, name) {
            (PropertyValue::Expr(value), "default_action") => {
                let Some(action) = as_action_ref(value) else {
                    self.error(value.span, Problem::ActionExpected {});
                    return;
                };
                if let Some(use_) = self.action_use(table, &action, "tableonly") {
                    let default = DefaultAction { use_, is_const: property.is_const };
                    self.program.tables[table.index()].default_action = Some(default);
                }
            }
            (PropertyValue::Expr(value), "largest_priority_wins") => {
                let value = self.expr(value);
                match self.bool_value(&value) {
                    Some(wins) => self.program.tables[table.index()].largest_priority_wins = wins,
                    None => self.error(value.span, Problem::PropertyType { name: property.name.name.clone() }),
                }
            }
            (PropertyValue::Expr(value), "priority_delta") => {
                let value = self.expr(value);
                match self.int_value(&value).filter(|value| *value > BigInt::ZERO) {
                    Some(delta) => self.program.tables[table.index()].priority_delta = delta,
                    None => self.error(value.span, Problem::PropertyType { name: property.name.name.clone() }),
                }
            }
            (PropertyValue::Expr(value), _) if name != "actions" && name != "key" => {
                let value = self.within(Place::Control, |checker| checker.expr(value));
                if name == "size" && !matches!(value.ty, Type::Int | Type::Bits { .. } | Type::Poison) {
                    self.error(value.span, Problem::PropertyType { name: property.name.name.clone() });
                }
                let (annotations, span) = (property.annotations.clone(), property.name.span);
                let property = Property { name: property.name.name.clone(), annotations, value, span };
                self.program.tables[table.index()].properties.push(property);
            }
            _ => {}
        }
    }

    fn entries(&mut self, table: TableId, entries: &[EntryDecl], property: &AstProperty) {
        self.program.tables[table.index()].const_entries = property.is_const;
        let keys = self.program.tables[table.index()].keys.clone();
        if keys.is_empty() && !entries.is_empty() {
            self.error(property.name.span, Problem::EntriesWithoutKey {});
            return;
        }
        for entry in entries {
            self.annotations(&entry.annotations);
            // `{ a, b }` is accepted as `(a, b)`.
            let written = match &entry.keys.sets[..] {
                [crate::ast::Expr { kind: Ast::List(items), .. }] => items,
                sets => sets,
            };
            if written.len() != keys.len() && !matches!(written, [any] if is_any(any)) {
                self.error(entry.keys.span, Problem::KeyCount { wanted: keys.len(), found: written.len() });
                continue;
            }
            let sets: Vec<Expr> = match written {
                [any] if is_any(any) => keys.iter().map(|_| self.expr(any)).collect(),
                sets => sets.iter().zip(&keys).map(|(set, key)| self.entry_set(set, key)).collect(),
            };
            let priority = entry.priority.as_ref().and_then(|priority| self.entry_priority(priority, property));
            let Some(action) = self.action_use(table, &entry.action, "defaultonly") else { continue };
            let (annotations, span) = (entry.annotations.clone(), entry.span);
            let entry = Entry { keys: sets, action, priority, is_const: entry.is_const, annotations, span };
            self.program.tables[table.index()].entries.push(entry);
        }
    }

    fn entry_set(&mut self, set: &crate::ast::Expr, key: &Key) -> Expr {
        let value = self.expr(set);
        let value = self.set_for_key(value, &key.expr);
        if !value.ty.is_poison() && !self.is_known(&value) {
            return self.refuse(value.span, Problem::NotConstant {});
        }
        let kind = &*self.program.match_kinds[key.kind];
        let misfit = matches!(
            (&value.kind, kind),
            (ExprKind::Mask(..), "exact" | "range" | "optional")
                | (ExprKind::Range(..), "exact" | "lpm" | "ternary" | "optional")
                | (ExprKind::Any, "exact")
        );
        if misfit {
            let problem = Problem::SetForMatchKind { kind: kind.into() };
            return self.refuse(value.span, problem);
        }
        value
    }

    fn entry_priority(&mut self, priority: &crate::ast::Expr, property: &AstProperty) -> Option<BigInt> {
        let value = self.expr(priority);
        if property.is_const {
            self.error(value.span, Problem::PriorityInConst {});
            return None;
        }
        let number = self.int_value(&value);
        if number.is_none() && !value.ty.is_poison() {
            self.error(value.span, Problem::NotConstant {});
        }
        number
    }
}

fn is_any(set: &crate::ast::Expr) -> bool {
    matches!(set.kind, Ast::Any)
}

/// An expression that can be read as `action` or `action(args)`.
fn as_action_ref(value: &crate::ast::Expr) -> Option<ActionRef> {
    let (path, args) = match &value.kind {
        Ast::Path(path) => (path, None),
        Ast::Call(call) => match &call.callee.kind {
            Ast::Path(path) => (path, Some(call.args.clone())),
            _ => return None,
        },
        _ => return None,
    };
    Some(ActionRef { annotations: Vec::new(), path: path.clone(), args, span: value.span })
}

/// Whether two expressions are structurally equal.
fn same_expr(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Int(a), ExprKind::Int(b)) => a == b,
        (ExprKind::Bool(a), ExprKind::Bool(b)) => a == b,
        (ExprKind::Var(a), ExprKind::Var(b)) => a == b,
        (ExprKind::Const(a), ExprKind::Const(b)) => a == b,
        (ExprKind::Enum(x, a), ExprKind::Enum(y, b)) => x == y && a == b,
        (ExprKind::Error(a), ExprKind::Error(b)) => a == b,
        (ExprKind::Field(a, i), ExprKind::Field(b, j)) => i == j && same_expr(a, b),
        (ExprKind::Element(a, i), ExprKind::Element(b, j)) => same_expr(a, b) && same_expr(i, j),
        (ExprKind::Slice(a, h, l), ExprKind::Slice(b, g, k)) => h == g && l == k && same_expr(a, b),
        (ExprKind::Cast(a), ExprKind::Cast(b)) | (ExprKind::Unary(_, a), ExprKind::Unary(_, b)) => same_expr(a, b),
        (ExprKind::Binary(x, a, b), ExprKind::Binary(y, c, d)) => x == y && same_expr(a, c) && same_expr(b, d),
        (ExprKind::Aggregate(a), ExprKind::Aggregate(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_expr(a, b))
        }
        (ExprKind::Call(a), ExprKind::Call(b)) => match (&a.callee, &b.callee) {
            (Callee::Function(x), Callee::Function(y)) => x == y && same_args(&a.args, &b.args),
            (Callee::Method(x, f), Callee::Method(y, g)) => f == g && same_expr(x, y) && same_args(&a.args, &b.args),
            _ => false,
        },
        _ => false,
    }
}

fn same_args(a: &Args, b: &Args) -> bool {
    let same = |a: &Arg, b: &Arg| match (a, b) {
        (Arg::Expr(a), Arg::Expr(b)) => same_expr(a, b),
        (Arg::Ignore, Arg::Ignore) => true,
        _ => false,
    };
    a.len() == b.len() && a.iter().zip(b).all(|((i, a), (j, b))| i == j && same(a, b))
}
