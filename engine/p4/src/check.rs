// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names, types and constants: from the syntax tree to the checked program.
//!
//! One pass in source order, since P4 declares before use (spec section 6.8). A broken construct becomes a
//! poisoned node, which is accepted everywhere, so that each cause is reported only once.

mod annotation;
mod block;
mod call;
mod coerce;
mod constant;
mod construct;
mod core_calls;
mod decl;
mod expr;
mod function;
mod infer;
mod literal;
mod member;
mod names;
mod operator;
mod parser;
mod scope;
mod stmt;
mod table;
mod types;

use std::cell::OnceCell;

use rustc_hash::FxHashMap;

use crate::ast::{self, Decl, Ident};
use crate::diagnostics::{Diagnostics, Problem};
use crate::outlook;
use crate::source::Span;
use crate::token::{Token, TokenKind};
use crate::typed::{BlockId, Program, TableId, Var, VarId, VarKind};
use crate::types::Type;

pub(crate) use annotation::string as annotation_string;
pub(crate) use names::Notes;
use scope::{Entry, Scopes, Symbol};

/// Checks a program. Broken constructs are omitted or poisoned; `diagnostics` then has an error.
pub(crate) fn check(decls: &[Decl], tokens: &[Token], diagnostics: &mut Diagnostics) -> Program {
    checked(decls, tokens, diagnostics, None).program
}

/// Checks a program, which may be broken, and notes what its names stand for. `probe` is a name that is asked about.
pub(crate) fn notes(decls: &[Decl], tokens: &[Token], probe: Option<&str>, diagnostics: &mut Diagnostics) -> Notes {
    let notes = Notes { probe: probe.map(Into::into), ..Notes::default() };
    let mut checker = checked(decls, tokens, diagnostics, Some(notes));
    let global = checker.visible();
    let notes = checker.notes.take().unwrap_or_default();
    Notes { global, ..notes }
}

fn checked<'a>(
    decls: &[Decl],
    tokens: &'a [Token],
    diagnostics: &'a mut Diagnostics,
    notes: Option<Notes>,
) -> Checker<'a> {
    let mut checker = Checker {
        diagnostics,
        tokens,
        program: Program::default(),
        scopes: Scopes::new(),
        infer: Vec::new(),
        place: Place::TopLevel,
        returns: None,
        loops: 0,
        block: None,
        table: None,
        broken_actions: false,
        method_owner: None,
        literals: OnceCell::new(),
        notes,
    };
    checker.collect_constants(decls);
    for decl in decls {
        checker.global(decl);
    }
    checker.no_other_main();
    checker
}

/// Kind of code that is being checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    TopLevel,
    /// Local declarations of a parser.
    Parser,
    State,
    /// Local declarations of a control.
    Control,
    Apply,
    Action,
    Function,
    Table,
    /// Arguments of actions in a table.
    ActionArgument,
    SelectCase,
}

struct Checker<'a> {
    diagnostics: &'a mut Diagnostics,
    /// For advice only.
    tokens: &'a [Token],
    program: Program,
    scopes: Scopes,
    /// Types found for inference variables.
    infer: Vec<Option<Type>>,
    place: Place,
    /// Return type of the current function.
    returns: Option<Type>,
    /// Number of loops around the current statement.
    loops: usize,
    /// The parser or control being checked.
    block: Option<BlockId>,
    /// The table being checked.
    table: Option<TableId>,
    /// Whether its list of actions has an unknown one: an action that is missing later may be that one.
    broken_actions: bool,
    /// Type of the extern instance whose abstract methods are being checked: the type of `this`.
    method_owner: Option<Type>,
    /// Literals that are not decimal, as written, for keys that are named after them.
    literals: OnceCell<FxHashMap<Span, String>>,
    /// What names stand for, if somebody asks.
    notes: Option<Notes>,
}

impl Checker<'_> {
    /// Collects `error` and `match_kind` constants first: all declarations share them, in any order.
    fn collect_constants(&mut self, decls: &[Decl]) {
        for decl in decls {
            let (list, what, names) = match decl {
                Decl::Error(names) => (&mut self.program.errors, "error", names),
                Decl::MatchKind(names) => (&mut self.program.match_kinds, "match_kind", names),
                _ => continue,
            };
            for Ident { name, span } in names {
                if list.contains(name) {
                    let problem = Problem::DuplicateMember { what, member: name.clone() };
                    self.diagnostics.error(*span, problem);
                } else {
                    list.push(name.clone());
                }
            }
        }
    }

    /// Reports a type named `main`, which must be an instance.
    fn no_other_main(&mut self) {
        if let Some(&Entry { symbol: Symbol::Type(_) | Symbol::Overloads(_), span }) = self.scopes.find("main", true) {
            self.error(span, Problem::MainNotPackage {});
        }
    }

    fn in_parser(&self) -> bool {
        self.block.is_some_and(|block| self.program.blocks[block.index()].kind == ast::BlockKind::Parser)
    }

    /// Runs `inner` in a new scope.
    fn scoped<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push();
        let result = inner(self);
        self.scopes.pop();
        result
    }

    /// Runs `inner` with `place` as the kind of code.
    fn within<T>(&mut self, place: Place, inner: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.place, place);
        let result = inner(self);
        self.place = outer;
        result
    }

    /// Declares a name in the current scope.
    fn declare(&mut self, name: &Ident, symbol: Symbol) {
        if name.is_underscore() {
            return; // reported by the parser
        }
        if matches!(self.place, Place::Apply | Place::Action | Place::Function | Place::State) {
            self.check_shadowing(name, &symbol);
        }
        let entry = Entry { symbol, span: name.span };
        self.note_entry(name, &entry);
        if let Some(first) = self.scopes.declare(&name.name, entry) {
            let (what, span) = (first.symbol.what(), first.span);
            let problem = Problem::Duplicate { name: name.name.clone() };
            self.diagnostics.error(name.span, problem).label(span, format!("first declared here, as {what}"));
        }
    }

    /// A declaration in a body must not hide a parameter, as in p4c.
    fn check_shadowing(&mut self, name: &Ident, symbol: &Symbol) {
        let is_param = |symbol: &Symbol| match symbol {
            Symbol::Var(id) => self.program.vars[id.index()].kind != VarKind::Variable,
            _ => false,
        };
        let Some(hidden) = self.scopes.find(&name.name, false) else { return };
        if !is_param(symbol) && is_param(&hidden.symbol) {
            let span = hidden.span;
            let problem = Problem::HidesParameter { name: name.name.clone() };
            self.diagnostics.error(name.span, problem).label(span, "the parameter");
        }
    }

    /// Declares a parser, control or package. Several may share a name if their constructors differ in the number or
    /// names of parameters (spec section 6.8.1).
    fn declare_constructible(&mut self, name: &Ident, ty: Type) {
        let kind = std::mem::discriminant(&ty);
        self.note_entry(name, &Entry { symbol: Symbol::Type(ty.clone()), span: name.span });
        match self.scopes.declare(&name.name, Entry { symbol: Symbol::Type(ty.clone()), span: name.span }) {
            None => return,
            Some(Entry { symbol: Symbol::Overloads(types), .. }) if std::mem::discriminant(&types[0]) == kind => {
                types.push(ty);
                return;
            }
            Some(Entry { symbol, .. }) => {
                if let Symbol::Type(first) = symbol
                    && std::mem::discriminant(first) == kind
                {
                    *symbol = Symbol::Overloads(vec![first.clone(), ty]);
                    return;
                }
            }
        }
        self.declare(name, Symbol::Poison);
    }

    fn new_var(&mut self, name: &Ident, ty: Type, kind: VarKind) -> VarId {
        let id = VarId(self.program.vars.len() as u32);
        self.program.vars.push(Var { name: name.name.clone(), ty, span: name.span, kind });
        id
    }

    /// The entry of a name; reports an unknown one.
    fn lookup(&mut self, path: &ast::Path) -> Option<Entry> {
        if let Some(entry) = self.scopes.find(&path.name.name, path.absolute).cloned() {
            self.note_entry(&path.name, &entry);
            return Some(entry);
        }
        if self.is_probe(&path.name, Self::visible) {
            return None;
        }
        let name = &path.name.name;
        if self.diagnostics.is_full() {
            return None;
        }
        let is_value = |symbol: &Symbol| !matches!(symbol, Symbol::Type(_) | Symbol::Overloads(_));
        let near = self.enum_with(name).or_else(|| self.scopes.nearest(name, is_value));
        let near = near.or_else(|| self.scopes.nearest(name, |_| true));
        self.unknown(&path.name, Problem::UnknownName { name: path.name.name.clone() }, near);
        None
    }

    /// Reports an unknown name. It may be declared too late, or be misspelt.
    fn unknown(&mut self, name: &Ident, problem: Problem, near: Option<String>) {
        let entry = self.diagnostics.error(name.span, problem);
        if !entry.is_shown() {
            return;
        }
        if let Some(later) = outlook::declared_later(self.tokens, name.span, &name.name) {
            entry.label(later, "declared here").help("move the declaration before its first use");
        } else if let Some(near) = near {
            entry.help(format!("did you mean `{near}`?"));
        } else if let Some(help) = outlook::missing_include(&name.name) {
            entry.help(help);
        }
    }

    /// The full name of an enum member.
    fn enum_with(&self, member: &str) -> Option<String> {
        let has = |decl: &&crate::typed::Enum| decl.members.iter().any(|known| &*known.name == member);
        self.program.enums.iter().find(has).map(|decl| format!("{}.{member}", decl.name))
    }

    /// The literal at a position in its own base, unless that is 10.
    fn literal_text(&self, span: Span) -> Option<&String> {
        let literals = self.literals.get_or_init(|| {
            let texts = self.tokens.iter().filter_map(|token| match &token.kind {
                TokenKind::Int(literal) if literal.radix != 10 => Some((token.span, literal.digits())),
                _ => None,
            });
            texts.collect()
        });
        literals.get(&span)
    }

    fn show(&self, ty: &Type) -> String {
        ty.show(&self.program)
    }

    fn error(&mut self, span: Span, problem: Problem) {
        self.diagnostics.error(span, problem);
    }
}
