// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types (spec section 7).

use std::rc::Rc;

use crate::token::Name;

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

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub(crate) struct $name(pub(crate) u32);

        impl $name {
            pub(crate) const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    VarId, ConstId, FunctionId, ActionId, TableId, InstanceId, ValueSetId,
    EnumId, NewtypeId, ExternId, BlockTypeId, BlockId, PackageId, StateId,
}

/// A type; names of `typedef`s are gone, so equal types are equal values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Type {
    /// Unknown because of a reported error; accepted everywhere.
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
    /// `{ a, b }` before its type is known: the parts, and whether `...` follows them.
    Sequence(Args, bool),
    /// `{ x = a, y = b }` before its type is known.
    Record(Rc<[(Name, Type)]>, bool),
    /// `{#}` before its header type is known.
    Invalid,
    /// `...` before its type is known.
    Dots,
    /// `_`, as a type argument or as a set.
    DontCare,
    Table(TableId),
    /// The result of applying a table.
    TableResult(TableId),
    /// Member `action_run` of that result.
    ActionRun(TableId),
    Action(ActionId),
}

/// `bit<width>`. Only in the IR is `bool` the same as `bit<1>`; here it is a type of its own.
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

    /// Replaces types top-down; `replace` returns a new type, or `None` to keep a type and continue with its parts.
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

    /// Whether some part of the type satisfies `test`.
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
}
