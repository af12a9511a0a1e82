// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parsers: state machines, which include their sub-parsers.

use num_bigint::BigUint;

use crate::ir::{self, BlockBody, KeySet, ParserBody, StateId, StmtKind, Target, Transition, Ty};
use crate::source::Span;
use crate::typed::{self, Expr, Stmt, ValueSetId};
use crate::types::Type;

use super::fold;
use super::names;
use super::storage::Lvalue;
use super::value::{ObjectId, Value};
use super::{Lowered, Lowerer};

/// States created so far, and the one that receives code.
#[derive(Default, Debug)]
pub(crate) struct Builder {
    states: Vec<ir::State>,
    current: usize,
}

impl Lowerer<'_> {
    /// A parser as a programmable block.
    pub(super) fn parser_block(&mut self, id: ObjectId) -> Lowered<BlockBody> {
        self.parser = Some(Builder::default());
        self.code.push(Vec::new());
        let span = self.span;
        let entry = self.new_state("$entry".into(), span);
        self.switch_to(entry);
        let result = self.states(id, Target::Accept, "");
        self.code.pop();
        let builder = self.parser.take().expect("set above");
        let start = result?;
        let mut states = builder.states;
        // The first state sets initial values of the parser's variables; it is not needed if there are none.
        if states[entry].body.is_empty() {
            return Ok(BlockBody::Parser(ParserBody { states: without_first(states), start: StateId(start.0 - 1) }));
        }
        states[entry].next = Transition::Goto(Target::State(start));
        Ok(BlockBody::Parser(ParserBody { states, start: StateId(entry as u32) }))
    }

    fn builder(&mut self) -> &mut Builder {
        self.parser.as_mut().expect("only called while a parser is lowered")
    }

    fn new_state(&mut self, name: String, span: Span) -> usize {
        let next = Transition::Goto(Target::Reject);
        self.builder().states.push(ir::State { name, body: Vec::new(), next, span });
        self.builder().states.len() - 1
    }

    /// Directs code to another state from here on.
    fn switch_to(&mut self, state: usize) {
        let code = std::mem::take(self.code.last_mut().expect("inside of a parser"));
        let current = self.builder().current;
        self.builder().states[current].body.extend(code);
        self.builder().current = state;
    }

    /// Ends the current state with a transition, and continues in another one.
    fn finish(&mut self, next: Transition, then: usize) {
        let current = self.builder().current;
        self.switch_to(then);
        self.builder().states[current].next = next;
    }

    /// Lowers all states of an instance and returns the first. Variables get their initial values in the current state.
    fn states(&mut self, id: ObjectId, accept: Target, suffix: &str) -> Lowered<StateId> {
        let program = self.program;
        let object = &self.objects[id.0 as usize];
        let decl = &program.blocks[object.decl.index()];
        let typed::BlockBody::Parser(states) = decl.body.clone() else {
            return self.internal(decl.span, "a parser was expected");
        };
        let is_main = self.frames.is_empty();
        let prefix = if is_main { String::new() } else { format!("{}.", object.path) };
        let entered = self.enter(id);
        let result = self.states_entered(id, &states, accept, &prefix, suffix);
        self.leave(entered);
        result
    }

    fn states_entered(
        &mut self,
        id: ObjectId,
        states: &[typed::State],
        accept: Target,
        prefix: &str,
        suffix: &str,
    ) -> Lowered<StateId> {
        self.declare_locals(id)?;
        let from = self.builder().current;
        let first = self.builder().states.len();
        for state in states {
            let name = names::control_plane("", &state.name, &state.annotations);
            self.new_state(format!("{prefix}{name}{suffix}"), state.span);
        }
        let to = |target: typed::Target| match target {
            typed::Target::State(id) => Target::State(StateId((first + id.index()) as u32)),
            typed::Target::Accept => accept,
            typed::Target::Reject => Target::Reject,
        };
        for (index, state) in states.iter().enumerate() {
            self.switch_to(first + index);
            self.span = state.span;
            self.stmts(&state.body)?;
            let next = match &state.next {
                typed::Transition::Goto(target) => Transition::Goto(to(*target)),
                typed::Transition::Select { keys, cases, span } => {
                    let cases: Vec<_> = cases.iter().map(|(set, target)| (set, to(*target))).collect();
                    self.select(id, keys, &cases, *span)?
                }
            };
            self.finish(next, from);
        }
        let start = states.iter().position(|state| &*state.name == "start");
        match start {
            Some(start) => Ok(StateId((first + start) as u32)),
            None => self.internal(self.span, "no start state"),
        }
    }

    fn select(
        &mut self,
        id: ObjectId,
        keys: &[Expr],
        cases: &[(&typed::KeySet, Target)],
        span: Span,
    ) -> Lowered<Transition> {
        let exprs: Vec<&Expr> = keys.iter().collect();
        let values = self.operands(&exprs)?;
        let mut lowered = Vec::new();
        for (value, key) in values.into_iter().zip(keys) {
            self.select_key(value, &key.ty, key.span, &mut lowered)?;
        }
        // All cases are lowered before an error in one of them ends the lowering.
        let cases: Vec<Lowered<_>> =
            cases.iter().map(|(set, target)| Ok((self.case_sets(id, set, &lowered)?, *target))).collect();
        let cases = cases.into_iter().collect::<Lowered<_>>()?;
        Ok(Transition::Select { keys: lowered, cases, span })
    }

    fn case_sets(&mut self, id: ObjectId, set: &typed::KeySet, keys: &[ir::Expr]) -> Lowered<Vec<KeySet>> {
        match set {
            typed::KeySet::Any => Ok(vec![KeySet::Any; keys.len()]),
            typed::KeySet::Each(sets) => {
                let mut flat = Vec::with_capacity(keys.len());
                sets.iter().try_for_each(|set| self.flat_sets(set, keys, &mut flat))?;
                Ok(flat)
            }
            // A value set covers all keys: it is attached to the first, and the others match anything.
            typed::KeySet::ValueSet(set) => {
                let mut sets = vec![KeySet::Any; keys.len()];
                sets[0] = KeySet::ValueSet(self.value_set(id, *set)?);
                Ok(sets)
            }
        }
    }

    /// The scalars of a key, which may be a list.
    fn select_key(&mut self, value: Value, ty: &Type, span: Span, to: &mut Vec<ir::Expr>) -> Lowered<()> {
        match value {
            Value::Struct(parts) => {
                let types = self.part_types(&self.concrete(ty));
                for (part, ty) in parts.into_iter().zip(&types) {
                    self.select_key(part, ty, span, to)?;
                }
                Ok(())
            }
            value => {
                let scalar = self.scalar_type_of(ty).unwrap_or(Ty::bits(32));
                to.push(self.scalar_of(value, scalar, span)?);
                Ok(())
            }
        }
    }

    fn flat_sets(&mut self, set: &Expr, keys: &[ir::Expr], to: &mut Vec<KeySet>) -> Lowered<()> {
        if let typed::ExprKind::Aggregate(parts) = &set.kind {
            return parts.iter().try_for_each(|part| self.flat_sets(part, keys, to));
        }
        let Some(key) = keys.get(to.len()) else { return self.internal(set.span, "more sets than keys") };
        let set = self.key_set(set, key.ty)?;
        to.push(set);
        Ok(())
    }

    /// The value set of the IR, created at its first use.
    fn value_set(&mut self, id: ObjectId, set: ValueSetId) -> Lowered<ir::ValueSetId> {
        let object = &self.objects[id.0 as usize];
        if let Some((_, known)) = object.value_sets.iter().find(|(known, _)| *known == set) {
            return Ok(*known);
        }
        let program = self.program;
        let decl = &program.value_sets[set.index()];
        let name = names::control_plane(&object.path.clone(), &decl.name, &decl.annotations);
        let ty = self.concrete(&decl.ty);
        let mut tys = Vec::new();
        self.scalar_types(&ty, decl.span, &mut tys)?;
        let size = self.expr(&decl.size)?;
        let size = self.known_number(&size, decl.span)?;
        let annotations = names::annotations(&decl.annotations);
        self.out.value_sets.push(ir::ValueSet { name, tys, size: u64::try_from(&size).unwrap_or(0), annotations });
        let made = ir::ValueSetId(self.out.value_sets.len() as u32 - 1);
        self.objects[id.0 as usize].value_sets.push((set, made));
        Ok(made)
    }

    /// Types of the scalars that a type consists of.
    pub(super) fn scalar_types(&mut self, ty: &Type, span: Span, to: &mut Vec<Ty>) -> Lowered<()> {
        if let Some(scalar) = self.scalar_ty(ty) {
            to.push(scalar);
            return Ok(());
        }
        let parts = self.part_types(ty);
        if parts.is_empty() {
            let what = format!("a value set of type `{}`", self.show(ty));
            return self.unsupported(span, what);
        }
        parts.iter().try_for_each(|part| self.scalar_types(part, span, to))
    }

    /// A sub-parser: its states become part of this machine, and the code after the call becomes a new state.
    pub(super) fn sub_parser(&mut self, id: ObjectId, span: Span) -> Lowered<()> {
        let copies = self.objects[id.0 as usize].copies;
        self.objects[id.0 as usize].copies += 1;
        let suffix = if copies == 0 { String::new() } else { format!("#{copies}") };
        let current = self.builder().current;
        let name = format!("{}+", self.builder().states[current].name);
        let after = self.new_state(name, span);
        let start = self.states(id, Target::State(StateId(after as u32)), &suffix)?;
        self.finish(Transition::Goto(Target::State(start)), after);
        Ok(())
    }

    /// An `if` whose sides apply parsers: a branch between states.
    pub(super) fn branch_states(&mut self, cond: ir::Expr, then: &[Stmt], otherwise: &[Stmt]) -> Lowered<()> {
        let span = cond.span;
        let current = self.builder().current;
        let name = self.builder().states[current].name.clone();
        let then_state = self.new_state(format!("{name}?"), span);
        let else_state = self.new_state(format!("{name}:"), span);
        let join = self.new_state(format!("{name}+"), span);
        let state = |index: usize| Target::State(StateId(index as u32));
        let cases =
            vec![(vec![KeySet::Value(BigUint::from(1u8))], state(then_state)), (vec![KeySet::Any], state(else_state))];
        self.finish(Transition::Select { keys: vec![cond], cases, span }, then_state);
        self.stmts(then)?;
        self.finish(Transition::Goto(state(join)), else_state);
        self.stmts(otherwise)?;
        self.finish(Transition::Goto(state(join)), join);
        Ok(())
    }

    /// Reads a header from the packet into a place.
    pub(crate) fn extract_to(&mut self, place: &Lvalue, varbit_width: Option<ir::Expr>, span: Span) -> Lowered<()> {
        if let Lvalue::Choice(index, places) = place {
            let mut cases = Vec::with_capacity(places.len());
            for (number, place) in places.iter().enumerate() {
                let width = varbit_width.clone();
                let (code, ()) = self.collect(|lowerer| lowerer.extract_to(place, width, span))?;
                cases.push((vec![number.into()], code));
            }
            self.emit(StmtKind::Switch { value: (**index).clone(), cases, default: Vec::new() });
            return Ok(());
        }
        let (Lvalue::Storage(storage, index), Some(header)) = (place, place.header()) else {
            return self.internal(span, "a header was expected");
        };
        self.emit(StmtKind::Extract { header, varbit_width });
        self.invalidate_siblings(storage, index.as_ref());
        Ok(())
    }

    /// `value < limit`
    fn less_than(&self, value: ir::Expr, limit: usize, span: Span) -> ir::Expr {
        let limit = fold::constant(&limit.into(), value.ty, span);
        fold::binary(crate::ast::BinaryOp::Lt, value, limit, span)
    }

    /// Rejects with `StackOutOfBounds` if all elements of a stack are in use (spec section 8.18).
    pub(crate) fn verify_next(&mut self, stack: &Lvalue, span: Span) -> Lowered<()> {
        let next = self.next_index(stack, span)?;
        if let Some(error) = self.error_code("StackOutOfBounds", span) {
            let cond = self.less_than(next, stack.len() as usize, span);
            self.emit(StmtKind::Verify { cond, error });
        }
        Ok(())
    }

    /// Counts an element of a stack as extracted.
    pub(crate) fn advance_next(&mut self, stack: &Lvalue, span: Span) -> Lowered<()> {
        let next = self.next_index(stack, span)?;
        let ir::ExprKind::Load(dst) = next.kind.clone() else { return self.internal(span, "a slot was expected") };
        let one = fold::constant(&1.into(), next.ty, span);
        let src = fold::binary(crate::ast::BinaryOp::Add, next, one, span);
        self.emit(StmtKind::Assign { dst, src });
        Ok(())
    }

    /// A constant that a `select` or `verify` needs.
    pub(crate) fn error_code(&mut self, name: &str, span: Span) -> Option<ir::Expr> {
        let place = self.program.errors.iter().position(|known| &**known == name)?;
        Some(fold::constant(&place.into(), Ty::bits(32), span))
    }
}

/// The states without the first one, which is never a target.
fn without_first(mut states: Vec<ir::State>) -> Vec<ir::State> {
    states.remove(0);
    let shift = |target: &mut Target| {
        if let Target::State(id) = target {
            *id = StateId(id.0 - 1);
        }
    };
    for state in &mut states {
        match &mut state.next {
            Transition::Goto(target) => shift(target),
            Transition::Select { cases, .. } => cases.iter_mut().for_each(|(_, target)| shift(target)),
        }
    }
    states
}
