// SPDX-License-Identifier: MIT OR Apache-2.0
//! What names stand for: the checker's notes for [`crate::language`].

use crate::source::Span;

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// A type.
    Type,
    /// A parser or control.
    Block,
    /// A constant, or a member of an `enum` or of `error`.
    Constant,
    /// A variable.
    Variable,
    /// A parameter.
    Parameter,
    /// A field of a struct, header or union.
    Field,
    /// A function.
    Function,
    /// A method of an object.
    Method,
    /// An action.
    Action,
    /// A table.
    Table,
    /// A state of a parser.
    State,
    /// An instance of an extern, parser, control or package.
    Instance,
    /// A value set.
    ValueSet,
}

/// A name in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Use {
    /// Where it stands.
    pub name: Span,
    /// The name in its declaration, which may be the same place; `None` for what the language itself declares.
    pub declaration: Option<Span>,
    /// What it stands for.
    pub role: Role,
}

/// A name that may stand at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The name.
    pub name: String,
    /// What it stands for.
    pub role: Role,
    /// The name in its declaration; `None` for what the language itself declares.
    pub declaration: Option<Span>,
}
