// SPDX-License-Identifier: MIT OR Apache-2.0
//! What names stand for, and which names may stand at a place. Only editors ask; a compilation notes nothing.

use crate::ast::Ident;
use crate::named::{Candidate, Role, Use};
use crate::source::Span;
use crate::token::Name;
use crate::typed::{FunctionKind, VarKind};
use crate::types::Type;

use super::Checker;
use super::scope::{Entry, Symbol};

/// What was noted of a program's names.
#[derive(Default, Debug)]
pub(crate) struct Notes {
    /// A name in the place that is asked about.
    pub(crate) probe: Option<Name>,
    pub(crate) uses: Vec<Use>,
    /// The names that may take the probe's place.
    pub(crate) candidates: Option<Vec<Candidate>>,
    /// The names of the top level, at the end.
    pub(crate) global: Vec<Candidate>,
}

impl Checker<'_> {
    /// Notes what a name stands for, and where that is declared.
    pub(super) fn note(&mut self, name: &Ident, declaration: Option<Span>, role: Role) {
        if let Some(notes) = &mut self.notes {
            notes.uses.push(Use { name: name.span, declaration, role });
        }
    }

    pub(super) fn note_entry(&mut self, name: &Ident, entry: &Entry) {
        if self.notes.is_some() {
            let role = self.role(&entry.symbol);
            self.note(name, Some(entry.span).filter(|span| *span != Span::default()), role);
        }
    }

    /// Whether a name is the probe, whose candidates are noted then.
    pub(super) fn is_probe(&mut self, name: &Ident, candidates: impl FnOnce(&Self) -> Vec<Candidate>) -> bool {
        let asked = self.notes.as_ref().is_some_and(|notes| notes.probe.as_ref() == Some(&name.name));
        if asked {
            let found = candidates(self);
            if let Some(notes) = &mut self.notes {
                notes.candidates.get_or_insert(found);
            }
        }
        asked
    }

    /// All names that are visible.
    pub(super) fn visible(&self) -> Vec<Candidate> {
        let seen = self.scopes.visible().into_iter();
        seen.map(|(name, entry)| Candidate {
            name: name.to_string(),
            role: self.role(&entry.symbol),
            declaration: Some(entry.span).filter(|span| *span != Span::default()),
        })
        .collect()
    }

    /// What may follow a value of a type and a point.
    pub(super) fn members_of(&self, ty: &Type) -> Vec<Candidate> {
        let builtin = |names: &'static [&'static str], role| {
            names.iter().map(move |name| Candidate { name: (*name).into(), role, declaration: None })
        };
        match ty {
            Type::Fields(id, _) => {
                let fields = self.program.fields(*id).fields.iter().map(|field| Candidate {
                    name: field.name.to_string(),
                    role: Role::Field,
                    declaration: Some(field.span),
                });
                let methods: &[&str] = match (self.is_header(ty), self.is_union(ty)) {
                    (true, _) => &["isValid", "setValid", "setInvalid", "minSizeInBits", "minSizeInBytes"],
                    (_, true) => &["isValid"],
                    _ => &[],
                };
                fields.chain(builtin(methods, Role::Method)).collect()
            }
            Type::Stack(..) => builtin(&["next", "last", "lastIndex", "size"], Role::Field)
                .chain(builtin(&["push_front", "pop_front"], Role::Method))
                .collect(),
            Type::Extern(id, _) => {
                let methods = self.program.externs[id.index()].methods.iter();
                methods
                    .map(|method| &self.program.functions[method.index()])
                    .map(|method| Candidate {
                        name: method.name.to_string(),
                        role: Role::Method,
                        declaration: Some(method.span),
                    })
                    .collect()
            }
            Type::Table(_) | Type::Block(..) | Type::Signature(..) => builtin(&["apply"], Role::Method).collect(),
            Type::TableResult(_) => builtin(&["hit", "miss", "action_run"], Role::Field).collect(),
            Type::Enum(id) => {
                let members = self.program.enums[id.index()].members.iter();
                members
                    .map(|member| Candidate {
                        name: member.name.to_string(),
                        role: Role::Constant,
                        declaration: Some(member.span),
                    })
                    .collect()
            }
            Type::Error => {
                let names = self.program.errors.iter();
                names
                    .map(|name| Candidate { name: name.to_string(), role: Role::Constant, declaration: None })
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn role(&self, symbol: &Symbol) -> Role {
        match symbol {
            Symbol::Type(Type::Block(..) | Type::Signature(..)) => Role::Block,
            Symbol::Type(_) | Symbol::Overloads(_) => Role::Type,
            Symbol::Var(id) => match self.program.vars[id.index()].kind {
                VarKind::Variable => Role::Variable,
                _ => Role::Parameter,
            },
            Symbol::Const(_) => Role::Constant,
            Symbol::Functions(ids) => match ids.first().map(|id| &self.program.functions[id.index()].kind) {
                Some(FunctionKind::Method { .. } | FunctionKind::Constructor) => Role::Method,
                _ => Role::Function,
            },
            Symbol::Action(_) => Role::Action,
            Symbol::Table(_) => Role::Table,
            Symbol::Instance(_) => Role::Instance,
            Symbol::ValueSet(_) => Role::ValueSet,
            Symbol::Poison => Role::Variable,
        }
    }
}
