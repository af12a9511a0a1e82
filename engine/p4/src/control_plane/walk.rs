// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instances, from the package down, and their members.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::ast::{BlockKind, Direction};
use crate::lower::names;
use crate::typed::{
    ActionId, Arg, Args, Construct, Constructor, Expr, ExprKind, InstanceId, Local, Param, Program, TableId, ValueSetId,
};
use crate::types::Type;

use super::annotation;
use super::scope::{Scope, ScopeId};
use super::types::{Types, declared};
use super::used::{ExternCall, Scan, Used};
use super::value::{self, Bound};
use super::{Action, Call, ControlPlane, Field, Object, TypeRef, Value, ValueSet};

/// A member of an instance that the control plane can name.
enum Member {
    Object(InstanceId),
    Action(ActionId),
    Table(TableId),
    ValueSet(ValueSetId),
}

/// Collects the members of a program's instances.
pub(super) struct Walk<'a> {
    pub(super) program: &'a Program,
    types: Types<'a>,
    pub(super) scopes: Vec<Scope>,
    /// Names of extern objects at top level.
    globals: FxHashMap<InstanceId, String>,
    pub(super) out: ControlPlane,
}

impl<'a> Walk<'a> {
    pub(super) fn new(program: &'a Program) -> Walk<'a> {
        let (globals, out) = (FxHashMap::default(), ControlPlane::default());
        Walk { program, types: Types::new(program), scopes: Vec::new(), globals, out }
    }

    pub(super) fn run(mut self, main: InstanceId) -> ControlPlane {
        let program = self.program;
        // Not a scope: declarations at top level have no constructor parameters.
        for id in &program.globals {
            if let Some(object) = self.object(None, *id) {
                self.globals.insert(*id, object.name.clone());
                self.out.objects.push(object);
            }
        }
        let main = &program.instances[main.index()];
        self.out.annotations = annotation::describe(self.program, &main.annotations);
        let mut args: Vec<&(usize, Arg)> = main.construct.args.iter().collect();
        args.sort_by_key(|(place, _)| *place);
        for (_, arg) in args {
            let Arg::Expr(Expr { kind: ExprKind::Construct(construct), ty, .. }) = arg else { continue };
            if let Constructor::Block(block) = construct.what {
                // p4c uses the declaration's name as prefix of its members, even if it has a `@name`.
                let path = program.blocks[block.index()].name.to_string();
                let scope = self.scope(construct, ty, path, None);
                self.block(scope);
            }
        }
        self.out.enums = self.types.enums();
        self.out.new_types = self.types.new_types();
        self.out.fields = self.types.fields();
        self.out.errors = program.errors.iter().map(ToString::to_string).collect();
        self.out
    }

    /// Creates an instance and the instances inside it. `outer` is the instance that declares it.
    fn scope(&mut self, construct: &Construct, ty: &Type, path: String, outer: Option<ScopeId>) -> ScopeId {
        let program = self.program;
        let Constructor::Block(block) = construct.what else { unreachable!("only blocks have instances inside") };
        let decl = &program.blocks[block.index()];
        let types = match ty {
            Type::Block(_, args) => {
                let args = args.iter().map(|arg| self.concrete(outer, arg));
                decl.type_params.iter().copied().zip(args).collect()
            }
            _ => Vec::new(),
        };
        let bound = self.constructor_values(outer, &decl.constructor, &construct.args);
        let given = construct.args.iter().filter_map(|(place, arg)| {
            let Arg::Expr(value) = arg else { return None };
            Some((decl.constructor[*place].var, self.scopes.get(outer?)?.applied(value)?))
        });
        let given = given.collect();
        let id = self.scopes.len();
        self.scopes.push(Scope { block, bound, path, types, children: FxHashMap::default(), given });
        for local in &decl.locals {
            let Local::Instance(instance) = local else { continue };
            let inner = &program.instances[instance.index()];
            if let (Constructor::Block(_), Type::Block(..)) = (inner.construct.what, &inner.ty) {
                let path = names::control_plane(&self.scopes[id].path, &inner.name, &inner.annotations);
                let child = self.scope(&inner.construct, &inner.ty, path, Some(id));
                self.scopes[id].children.insert(*instance, child);
            }
        }
        id
    }

    /// Values of a constructor's parameters, as far as they are constant.
    fn constructor_values(&self, outer: Option<ScopeId>, params: &[Param], args: &Args) -> Bound {
        let default = |param: &Param| Some((param.var, self.value(None, param.default.as_ref()?)?));
        let mut values: Bound = params.iter().filter_map(default).collect();
        for (place, arg) in args {
            let Arg::Expr(expr) = arg else { continue };
            if let Some(value) = self.value(outer, expr) {
                values.insert(params[*place].var, value);
            }
        }
        values
    }

    /// A constant, or the name of an extern object.
    pub(super) fn value(&self, scope: Option<ScopeId>, expr: &Expr) -> Option<Value> {
        match &expr.kind {
            ExprKind::Instance(id) => self.object_name(scope, *id).map(Value::Object),
            _ => match scope {
                Some(scope) => value::value(self.program, &self.scopes[scope].bound, expr),
                None => value::value(self.program, &Bound::default(), expr),
            },
        }
    }

    /// The control-plane name of an instance; the top level has none.
    pub(super) fn path(&self, scope: Option<ScopeId>) -> &str {
        scope.map_or("", |scope| &self.scopes[scope].path)
    }

    fn object_name(&self, scope: Option<ScopeId>, id: InstanceId) -> Option<String> {
        if let Some(name) = self.globals.get(&id) {
            return Some(name.clone());
        }
        let decl = &self.program.instances[id.index()];
        let Constructor::Extern(_) = decl.construct.what else { return None };
        Some(names::control_plane(self.path(scope), &decl.name, &decl.annotations))
    }

    fn concrete(&self, scope: Option<ScopeId>, ty: &Type) -> Type {
        let Some(scope) = scope else { return ty.clone() };
        let args = &self.scopes[scope].types;
        ty.substitute(&|param| args.iter().find(|(known, _)| *known == param).map(|(_, arg)| arg.clone()))
    }

    pub(super) fn type_in(&mut self, scope: ScopeId, ty: &Type) -> TypeRef {
        let ty = self.concrete(Some(scope), ty);
        self.types.describe(&ty)
    }

    /// A block of the architecture: all members of it and of the blocks inlined into it.
    fn block(&mut self, top: ScopeId) {
        let mut scan = Scan::new(self.program, &self.scopes, top);
        scan.block(top);
        let used = scan.used;
        let mut members = Vec::new();
        self.members(top, &used, &mut members);
        let users = self.users(top, &members, &used);
        for ((scope, action), count) in &users.counts {
            if self.program.actions[action.index()].owner.is_none() {
                self.action(*scope, *action, *count);
            }
        }
        for (scope, member) in members {
            match member {
                Member::Object(id) => {
                    let object = self.object(Some(scope), id);
                    self.out.objects.extend(object);
                }
                Member::Table(id) => self.table(scope, id),
                Member::ValueSet(id) => self.value_set(scope, id),
                Member::Action(id) => {
                    if let Some(count) = users.of(scope, id) {
                        self.action(scope, id, count);
                    }
                }
            }
        }
        if self.program.blocks[self.scopes[top].block.index()].kind == BlockKind::Control {
            self.calls(used.calls);
        }
    }

    /// Used members that an instance declares; an applied instance is replaced by its members.
    fn members(&self, scope: ScopeId, used: &Used, out: &mut Vec<(ScopeId, Member)>) {
        for local in &self.program.blocks[self.scopes[scope].block.index()].locals {
            match local {
                Local::Instance(id) => match self.scopes[scope].children.get(id) {
                    Some(child) if used.applied.contains(child) => self.members(*child, used, out),
                    Some(_) => {}
                    None => out.push((scope, Member::Object(*id))),
                },
                Local::Action(id) => out.push((scope, Member::Action(*id))),
                Local::Table(id) if used.tables.contains(&(scope, *id)) => out.push((scope, Member::Table(*id))),
                Local::ValueSet(id) if used.value_sets.contains(&(scope, *id)) => {
                    out.push((scope, Member::ValueSet(*id)));
                }
                Local::Table(_) | Local::ValueSet(_) | Local::Var(..) => {}
            }
        }
    }

    /// The users of each action: tables, and calls in the code.
    fn users(&self, top: ScopeId, members: &[(ScopeId, Member)], used: &Used) -> Users {
        let mut users = Users::default();
        let home = |scope: ScopeId, action: ActionId| match self.program.actions[action.index()].owner {
            Some(_) => scope,
            None => top,
        };
        for (scope, member) in members {
            let Member::Table(table) = member else { continue };
            for entry in &self.program.tables[table.index()].actions {
                users.add(home(*scope, entry.action), entry.action, true);
            }
        }
        for (scope, action) in &used.actions {
            users.add(home(*scope, *action), *action, false);
        }
        users
    }

    /// An action, of which p4c makes a copy for each of its users.
    fn action(&mut self, scope: ScopeId, id: ActionId, users: Count) {
        let decl = &self.program.actions[id.index()];
        let name = self.action_name(scope, id);
        let mut params = Vec::new();
        if users.by_table {
            for param in decl.params.iter().filter(|param| param.direction == Direction::None) {
                let (name, ty) = (declared(&param.name, &param.annotations), self.type_in(scope, &param.ty));
                params.push(Field { name, ty, annotations: annotation::describe(self.program, &param.annotations) });
            }
        }
        self.out.actions.push(Action {
            name,
            annotations: annotation::describe(self.program, &decl.annotations),
            params,
        });
        let mut scan = Scan::new(self.program, &self.scopes, scope);
        scan.action(id);
        let calls = scan.used.calls;
        for _ in 0..users.number {
            self.calls(calls.clone());
        }
    }

    fn calls(&mut self, calls: Vec<ExternCall>) {
        for (scope, function, type_args) in calls {
            let function = self.program.functions[function.index()].name.to_string();
            let type_args = type_args.iter().map(|ty| self.type_in(scope, ty)).collect();
            self.out.calls.push(Call { function, type_args });
        }
    }

    /// An extern object declared in an instance, or at top level; `None` if the declaration is of another kind.
    fn object(&mut self, scope: Option<ScopeId>, id: InstanceId) -> Option<Object> {
        let decl = &self.program.instances[id.index()];
        let mut object = self.constructed(scope, &decl.construct, &decl.ty)?;
        object.name = names::control_plane(self.path(scope), &decl.name, &decl.annotations);
        object.annotations = annotation::describe(self.program, &decl.annotations);
        Some(object)
    }

    /// A nameless extern object.
    pub(super) fn constructed(&mut self, scope: Option<ScopeId>, construct: &Construct, ty: &Type) -> Option<Object> {
        let program = self.program;
        let (Constructor::Extern(constructor), Type::Extern(of, type_args)) = (construct.what, ty) else {
            return None;
        };
        let params = &program.functions[constructor.index()].params;
        let mut args = BTreeMap::new();
        for (place, arg) in &construct.args {
            if let Arg::Expr(expr) = arg
                && let Some(value) = self.value(scope, expr)
            {
                args.insert(params[*place].name.to_string(), value);
            }
        }
        let type_args: Vec<Type> = type_args.iter().map(|ty| self.concrete(scope, ty)).collect();
        let type_args = type_args.iter().map(|ty| self.types.describe(ty)).collect();
        let of = program.externs[of.index()].name.to_string();
        Some(Object { of, name: String::new(), annotations: Vec::new(), type_args, args })
    }

    fn value_set(&mut self, scope: ScopeId, id: ValueSetId) {
        let decl = &self.program.value_sets[id.index()];
        let name = names::control_plane(&self.scopes[scope].path, &decl.name, &decl.annotations);
        let size = value::value(self.program, &self.scopes[scope].bound, &decl.size);
        let ty = self.type_in(scope, &decl.ty);
        let annotations = annotation::describe(self.program, &decl.annotations);
        self.out.value_sets.push(ValueSet { name, annotations, ty, size });
    }
}

/// How many users an action has.
#[derive(Clone, Copy, Default, Debug)]
struct Count {
    number: usize,
    /// Whether a table is among them: its entries supply the parameters.
    by_table: bool,
}

/// The users of each action, in order of first use.
#[derive(Default, Debug)]
struct Users {
    counts: Vec<((ScopeId, ActionId), Count)>,
    places: FxHashMap<(ScopeId, ActionId), usize>,
}

impl Users {
    fn add(&mut self, scope: ScopeId, action: ActionId, by_table: bool) {
        let place = *self.places.entry((scope, action)).or_insert(self.counts.len());
        if place == self.counts.len() {
            self.counts.push(((scope, action), Count::default()));
        }
        let count = &mut self.counts[place].1;
        count.number += 1;
        count.by_table |= by_table;
    }

    fn of(&self, scope: ScopeId, action: ActionId) -> Option<Count> {
        self.places.get(&(scope, action)).map(|place| self.counts[*place].1)
    }
}
