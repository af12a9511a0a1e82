// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types (spec section 7).

use std::rc::Rc;

use crate::token::Name;
use crate::typed::{ActionId, BlockId, BlockTypeId, EnumId, ExternId, NewtypeId, PackageId, Program, TableId};

/// A struct, header or header union.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct FieldsId(pub(crate) u32);

impl FieldsId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A type parameter of a generic declaration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TypeParamId(pub(crate) u32);

/// Type arguments.
pub(crate) type Args = Rc<[Type]>;

/// A type; names of `typedef`s are gone, so equal types are equal values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Type {
    /// Unknown because of something already reported; fits everywhere.
    Poison,
    Void,
    Bool,
    /// `int` of any size.
    Int,
    /// `bit<width>` or `int<width>`
    Bits {
        width: u32,
        signed: bool,
    },
    Varbit(u32),
    String,
    Error,
    MatchKind,
    /// Struct, header or header union.
    Fields(FieldsId, Args),
    Enum(EnumId),
    New(NewtypeId),
    /// `T[n]`
    Stack(Rc<Type>, u32),
    Tuple(Args),
    List(Rc<Type>),
    /// Set of values of a type.
    Set(Rc<Type>),
    Extern(ExternId, Args),
    /// A parser or control type.
    Signature(BlockTypeId, Args),
    /// A parser or control declaration.
    Block(BlockId, Args),
    Package(PackageId, Args),
    Param(TypeParamId),
    /// To be inferred.
    Infer(u32),
    /// `{ a, b }` before it is known what it makes; the parts, and whether `...` follows them.
    Sequence(Args, bool),
    /// `{ x = a, y = b }` before it is known what it makes.
    Record(Rc<[(Name, Type)]>, bool),
    /// `{#}` before it is known of which header.
    Invalid,
    /// `...` before it is known of what.
    Dots,
    /// `_`, as a type argument or as a set.
    DontCare,
    Table(TableId),
    /// What applying a table gives.
    TableResult(TableId),
    /// Member `action_run` of that.
    ActionRun(TableId),
    Action(ActionId),
}

/// `bit<1>` images of `bool` and the like are `Bits` of width 1 in the IR only; here they are types of their own.
pub(crate) const fn bits(width: u32) -> Type {
    Type::Bits { width, signed: false }
}

impl Type {
    pub(crate) fn tuple(parts: impl IntoIterator<Item = Type>) -> Type {
        Type::Tuple(parts.into_iter().collect())
    }

    pub(crate) fn set(of: Type) -> Type {
        Type::Set(Rc::new(of))
    }

    pub(crate) fn is_poison(&self) -> bool {
        matches!(self, Type::Poison)
    }

    /// Replaces types bottom-up; `replace` gives a new type or `None` to keep it.
    pub(crate) fn map(&self, replace: &dyn Fn(&Type) -> Option<Type>) -> Type {
        let all = |args: &Args| -> Args { args.iter().map(|arg| arg.map(replace)).collect() };
        if let Some(new) = replace(self) {
            return new;
        }
        match self {
            Type::Fields(id, args) if !args.is_empty() => Type::Fields(*id, all(args)),
            Type::Stack(element, size) => Type::Stack(Rc::new(element.map(replace)), *size),
            Type::Tuple(parts) => Type::Tuple(all(parts)),
            Type::List(element) => Type::List(Rc::new(element.map(replace))),
            Type::Set(element) => Type::Set(Rc::new(element.map(replace))),
            Type::Extern(id, args) if !args.is_empty() => Type::Extern(*id, all(args)),
            Type::Signature(id, args) if !args.is_empty() => Type::Signature(*id, all(args)),
            Type::Block(id, args) if !args.is_empty() => Type::Block(*id, all(args)),
            Type::Package(id, args) if !args.is_empty() => Type::Package(*id, all(args)),
            Type::Sequence(parts, dots) => Type::Sequence(all(parts), *dots),
            Type::Record(fields, dots) => {
                Type::Record(fields.iter().map(|(name, ty)| (name.clone(), ty.map(replace))).collect(), *dots)
            }
            other => other.clone(),
        }
    }

    /// Replaces type parameters.
    pub(crate) fn substitute(&self, with: &dyn Fn(TypeParamId) -> Option<Type>) -> Type {
        self.map(&|ty| match ty {
            Type::Param(id) => with(*id),
            _ => None,
        })
    }

    /// Whether some part of the type is as asked.
    pub(crate) fn any(&self, test: &dyn Fn(&Type) -> bool) -> bool {
        if test(self) {
            return true;
        }
        match self {
            Type::Fields(_, parts)
            | Type::Tuple(parts)
            | Type::Extern(_, parts)
            | Type::Signature(_, parts)
            | Type::Block(_, parts)
            | Type::Package(_, parts)
            | Type::Sequence(parts, _) => parts.iter().any(|part| part.any(test)),
            Type::Stack(element, _) | Type::List(element) | Type::Set(element) => element.any(test),
            Type::Record(fields, _) => fields.iter().any(|(_, ty)| ty.any(test)),
            _ => false,
        }
    }

    /// As a user would write it.
    pub(crate) fn show(&self, program: &Program) -> String {
        let list = |args: &Args| args.iter().map(|arg| arg.show(program)).collect::<Vec<_>>().join(", ");
        let named = |name: &Name, args: &Args| match args.len() {
            0 => name.to_string(),
            _ => format!("{name}<{}>", list(args)),
        };
        match self {
            Type::Poison => "?".into(),
            Type::Void => "void".into(),
            Type::Bool => "bool".into(),
            Type::Int => "int".into(),
            Type::Bits { width, signed: false } => format!("bit<{width}>"),
            Type::Bits { width, signed: true } => format!("int<{width}>"),
            Type::Varbit(width) => format!("varbit<{width}>"),
            Type::String => "string".into(),
            Type::Error => "error".into(),
            Type::MatchKind => "match_kind".into(),
            Type::Fields(id, args) => named(&program.fields(*id).name, args),
            Type::Enum(id) => program.enums[id.index()].name.to_string(),
            Type::New(id) => program.newtypes[id.index()].name.to_string(),
            Type::Stack(element, size) => format!("{}[{size}]", element.show(program)),
            Type::Tuple(parts) => format!("tuple<{}>", list(parts)),
            Type::List(element) => format!("list<{}>", element.show(program)),
            Type::Set(element) => format!("set<{}>", element.show(program)),
            Type::Extern(id, args) => named(&program.externs[id.index()].name, args),
            Type::Signature(id, args) => named(&program.block_types[id.index()].name, args),
            Type::Block(id, args) => named(&program.blocks[id.index()].name, args),
            Type::Package(id, args) => named(&program.packages[id.index()].name, args),
            Type::Param(id) => program.type_params[id.0 as usize].to_string(),
            Type::Infer(_) | Type::DontCare => "_".into(),
            Type::Sequence(parts, dots) => format!("{{{}{}}}", list(parts), if *dots { ", ..." } else { "" }),
            Type::Record(fields, dots) => {
                let fields: Vec<_> = fields.iter().map(|(name, ty)| format!("{name} = {}", ty.show(program))).collect();
                format!("{{{}{}}}", fields.join(", "), if *dots { ", ..." } else { "" })
            }
            Type::Invalid => "{#}".into(),
            Type::Dots => "...".into(),
            Type::Table(id) => format!("table {}", program.tables[id.index()].name),
            Type::TableResult(_) => "apply_result".into(),
            Type::ActionRun(_) => "action_run".into(),
            Type::Action(id) => format!("action {}", program.actions[id.index()].name),
        }
    }
}
