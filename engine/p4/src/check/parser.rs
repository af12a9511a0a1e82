// SPDX-License-Identifier: MIT OR Apache-2.0
//! States and transitions of parsers (spec sections 13.3 to 13.6).

use rustc_hash::FxHashMap;

use crate::ast::{self, Ident, KeysetExpr, ParserDecl, StateDecl};
use crate::diagnostics::Problem;
use crate::named::{Candidate, Role};
use crate::source::Span;
use crate::typed::{BlockBody, Expr, ExprKind, KeySet, State, StateId, Target, Transition};
use crate::types::Type;

use super::scope::nearest;
use super::{Checker, Place};

/// The states of a parser, and the index of the first state of each name.
struct Names<'a> {
    all: &'a [StateDecl],
    numbers: FxHashMap<&'a str, usize>,
}

impl Names<'_> {
    fn candidates(&self) -> Vec<Candidate> {
        let of = |name: &str, declaration| Candidate { name: name.into(), role: Role::State, declaration };
        let declared = self.all.iter().map(|state| of(&state.name.name, Some(state.name.span)));
        declared.chain(["accept", "reject"].map(|name| of(name, None))).collect()
    }
}

impl Checker<'_> {
    pub(super) fn states(&mut self, decl: &ParserDecl) -> BlockBody {
        let mut numbers = FxHashMap::default();
        for (index, state) in decl.states.iter().enumerate() {
            let name = &state.name;
            if matches!(&*name.name, "accept" | "reject") {
                self.error(name.span, Problem::BuiltinState { name: name.name.clone() });
            }
            let first: usize = *numbers.entry(&*name.name).or_insert(index);
            if first != index {
                let span = decl.states[first].name.span;
                let problem = Problem::Duplicate { name: name.name.clone() };
                self.diagnostics.error(name.span, problem).label(span, "first declared here, as a state");
            }
        }
        if !numbers.contains_key("start") {
            self.error(decl.ty.name.span, Problem::NoStartState { parser: decl.ty.name.name.clone() });
        }
        let names = Names { all: &decl.states, numbers };
        let states: Vec<State> = decl.states.iter().map(|state| self.state(state, &names)).collect();
        if !ends(&states) {
            self.error(decl.ty.name.span, Problem::ParserNeverEnds { parser: decl.ty.name.name.clone() });
        }
        BlockBody::Parser(states.into())
    }

    fn state(&mut self, state: &StateDecl, names: &Names<'_>) -> State {
        self.annotations(&state.annotations);
        self.note(&state.name, Some(state.name.span), Role::State);
        self.scoped(|checker| {
            let body = checker
                .within(Place::State, |checker| state.body.iter().filter_map(|stmt| checker.statement(stmt)).collect());
            let next = match &state.transition {
                // Without a transition a state rejects (spec section 13.5).
                None => Transition::Goto(Target::Reject),
                Some(ast::Transition::Goto(target)) => Transition::Goto(checker.target(target, names)),
                Some(ast::Transition::Select { keys, cases, span }) => checker.select(keys, cases, *span, names),
            };
            let (name, span) = (state.name.name.clone(), state.name.span);
            State { name, span, annotations: state.annotations.clone(), body, next }
        })
    }

    fn target(&mut self, name: &Ident, names: &Names<'_>) -> Target {
        match &*name.name {
            "accept" => return Target::Accept,
            "reject" => return Target::Reject,
            _ => {}
        }
        if self.is_probe(name, |_| names.candidates()) {
            return Target::Reject;
        }
        if let Some(number) = names.numbers.get(&*name.name) {
            self.note(name, Some(names.all[*number].name.span), Role::State);
            return Target::State(StateId(*number as u32));
        }
        let entry = self.diagnostics.error(name.span, Problem::UnknownState { name: name.name.clone() });
        let known = names.all.iter().map(|state| &*state.name.name).chain(["accept", "reject"]);
        if entry.is_shown()
            && let Some(near) = nearest(&name.name, known)
        {
            entry.help(format!("did you mean `{near}`?"));
        }
        Target::Reject
    }

    fn select(&mut self, keys: &[ast::Expr], cases: &[ast::SelectCase], span: Span, names: &Names<'_>) -> Transition {
        let keys: Vec<Expr> = self.within(Place::State, |checker| {
            let key = |key| {
                let key = checker.expr(key);
                checker.select_key(key)
            };
            keys.iter().map(key).collect()
        });
        let mut typed = Vec::with_capacity(cases.len());
        for case in cases {
            let set = self.within(Place::SelectCase, |checker| checker.select_set(&case.keys, &keys));
            let target = self.target(&case.target, names);
            if let Some(set) = set {
                typed.push((set, target));
            }
        }
        Transition::Select { keys, cases: typed, span }
    }

    /// Checks a key, which must be a scalar or a list of scalars.
    fn select_key(&mut self, key: Expr) -> Expr {
        if let Type::Int = key.ty {
            return self.refuse(key.span, Problem::SelectType { ty: "int".into() });
        }
        let is_simple = |ty: &Type| matches!(ty, Type::Bits { .. } | Type::Bool | Type::Enum(_) | Type::Poison);
        let fits = match &key.ty {
            Type::Sequence(parts, false) | Type::Tuple(parts) => parts.iter().all(is_simple),
            ty => is_simple(ty),
        };
        if fits {
            return key;
        }
        let problem = Problem::SelectType { ty: self.show(&key.ty) };
        self.refuse(key.span, problem)
    }

    /// The sets of one case, one per key.
    fn select_set(&mut self, set: &KeysetExpr, keys: &[Expr]) -> Option<KeySet> {
        if let [only] = &set.sets[..] {
            if matches!(only.kind, ast::ExprKind::Any) {
                return Some(KeySet::Any);
            }
            let value = self.expr(only);
            if let ExprKind::ValueSet(id) = value.kind {
                return self.value_set_fits(&value, keys).then_some(KeySet::ValueSet(id));
            }
            // A struct or tuple may give the values of all keys.
            if keys.len() != 1 && matches!(value.ty, Type::Sequence(..) | Type::Tuple(_)) {
                let wanted = Type::tuple(keys.iter().map(|key| self.underlying(&key.ty)));
                let value = self.coerce(value, &wanted);
                let ExprKind::Aggregate(parts) = value.kind else { return None };
                return Some(KeySet::Each(parts));
            }
            if keys.len() != 1 {
                if !value.ty.is_poison() {
                    self.error(set.span, Problem::KeyCount { wanted: keys.len(), found: 1 });
                }
                return None;
            }
            let value = self.set_for_key(value, &keys[0]);
            return (!value.ty.is_poison()).then(|| KeySet::Each(vec![value]));
        }
        if set.sets.len() != keys.len() {
            // A single key may itself be a list.
            if let [Expr { ty: Type::Sequence(parts, false) | Type::Tuple(parts), .. }] = keys
                && parts.len() == set.sets.len()
            {
                let parts = parts.clone();
                return self.select_parts(set, &parts);
            }
            self.error(set.span, Problem::KeyCount { wanted: keys.len(), found: set.sets.len() });
            return None;
        }
        let mut sets = Vec::with_capacity(keys.len());
        for (set, key) in set.sets.iter().zip(keys) {
            let value = self.expr(set);
            sets.push(self.set_for_key(value, key));
        }
        (!sets.iter().any(|set| set.ty.is_poison())).then_some(KeySet::Each(sets))
    }

    fn select_parts(&mut self, set: &KeysetExpr, parts: &[Type]) -> Option<KeySet> {
        let mut sets = Vec::with_capacity(parts.len());
        for (set, part) in set.sets.iter().zip(parts) {
            let key = Expr { kind: ExprKind::Poison, ty: part.clone(), span: set.span };
            let value = self.expr(set);
            sets.push(self.set_for_key(value, &key));
        }
        (!sets.iter().any(|set| set.ty.is_poison())).then_some(KeySet::Each(sets))
    }

    /// Types of the scalars that a type consists of.
    fn scalar_parts(&self, ty: &Type, to: &mut Vec<Type>) {
        match ty {
            Type::Tuple(parts) | Type::Sequence(parts, _) => parts.iter().for_each(|part| self.scalar_parts(part, to)),
            Type::Fields(id, args) => {
                let count = self.program.fields(*id).fields.len();
                (0..count).for_each(|index| self.scalar_parts(&self.program.field_type(*id, args, index), to));
            }
            other => to.push(self.underlying(&self.unwrap_newtype(other))),
        }
    }

    fn value_set_fits(&mut self, set: &Expr, keys: &[Expr]) -> bool {
        let Type::Set(element) = &set.ty else { return false };
        let (mut wanted, mut found) = (Vec::new(), Vec::new());
        keys.iter().for_each(|key| self.scalar_parts(&key.ty, &mut wanted));
        self.scalar_parts(element, &mut found);
        if wanted == found || keys.iter().any(|key| key.ty.is_poison()) {
            return true;
        }
        let problem =
            Problem::Mismatch { expected: self.show(&Type::tuple(wanted)), found: self.show(&Type::tuple(found)) };
        self.error(set.span, problem);
        false
    }

    /// Converts a set to the type of its key. A case may have an enum type or its underlying type.
    pub(super) fn set_for_key(&mut self, set: Expr, key: &Expr) -> Expr {
        if matches!(set.kind, ExprKind::Any) || set.ty.is_poison() || key.ty.is_poison() {
            return set;
        }
        let below = self.underlying(&key.ty);
        let span = set.span;
        match set.kind {
            ExprKind::Mask(a, b) => {
                let (a, b) = (self.coerce(*a, &below), self.coerce(*b, &below));
                let poison = a.ty.is_poison() || b.ty.is_poison();
                let ty = if poison { Type::Poison } else { set.ty };
                Expr { kind: ExprKind::Mask(Box::new(a), Box::new(b)), ty, span }
            }
            ExprKind::Range(a, b) => {
                let (a, b) = (self.coerce(*a, &below), self.coerce(*b, &below));
                let poison = a.ty.is_poison() || b.ty.is_poison();
                let ty = if poison { Type::Poison } else { set.ty };
                Expr { kind: ExprKind::Range(Box::new(a), Box::new(b)), ty, span }
            }
            kind => {
                let set = Expr { kind, ..set };
                let wanted = if set.ty == key.ty { key.ty.clone() } else { below };
                let set = if set.ty == wanted { set } else { self.as_underlying(set) };
                self.coerce(set, &wanted)
            }
        }
    }
}

/// Whether accept or reject can be reached from the start state. A `select` may always reject.
fn ends(states: &[State]) -> bool {
    let Some(start) = states.iter().position(|state| &*state.name == "start") else { return true };
    let (mut seen, mut open) = (vec![false; states.len()], vec![start]);
    while let Some(state) = open.pop() {
        if std::mem::replace(&mut seen[state], true) {
            continue;
        }
        match &states[state].next {
            Transition::Goto(Target::State(next)) => open.push(next.index()),
            Transition::Goto(_) => return true,
            Transition::Select { cases, .. } => {
                let total = cases.iter().any(|(set, _)| matches!(set, KeySet::Any));
                if !total || cases.iter().any(|(_, target)| !matches!(target, Target::State(_))) {
                    return true;
                }
                open.extend(cases.iter().filter_map(|(_, target)| match target {
                    Target::State(next) => Some(next.index()),
                    _ => None,
                }));
            }
        }
    }
    false
}
