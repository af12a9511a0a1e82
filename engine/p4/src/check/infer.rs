// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inference of type arguments by unification (spec section 8.18).

use crate::typed::Param;
use crate::types::{Type, TypeParamId};

use super::Checker;

impl Checker<'_> {
    /// A new inference variable.
    pub(super) fn fresh(&mut self) -> Type {
        self.infer.push(None);
        Type::Infer(self.infer.len() as u32 - 1)
    }

    /// Inference variables for type parameters. A type argument in the program binds its variable; `_` leaves it open.
    pub(super) fn fresh_args(&mut self, params: &[TypeParamId], given: &[Type]) -> Vec<Type> {
        let fresh: Vec<Type> = params.iter().map(|_| self.fresh()).collect();
        for (variable, given) in fresh.iter().zip(given) {
            if let (Type::Infer(index), false) = (variable, *given == Type::DontCare) {
                self.infer[*index as usize] = Some(given.clone());
            }
        }
        fresh
    }

    /// A type with arguments substituted for parameters.
    pub(super) fn with_args(ty: &Type, params: &[TypeParamId], args: &[Type]) -> Type {
        ty.substitute(&|param| params.iter().position(|known| *known == param).and_then(|at| args.get(at).cloned()))
    }

    /// A type with its inferred parts substituted.
    pub(super) fn solved(&self, ty: &Type) -> Type {
        ty.map(&|part| match part {
            Type::Infer(index) => self.infer[*index as usize].as_ref().map(|found| self.solved(found)),
            _ => None,
        })
    }

    /// Whether some part of the type is still open.
    pub(super) fn is_open(ty: &Type) -> bool {
        ty.any(&|part| matches!(part, Type::Infer(_)))
    }

    /// Unifies a parameter's type with an argument's by binding open variables; false if this is impossible. Coercion
    /// converts the argument later.
    pub(super) fn unify(&mut self, param: &Type, arg: &Type) -> bool {
        // A number without a width gives `int`; a width found later replaces it.
        if let (Type::Infer(index), Type::Bits { .. }) = (param, arg)
            && self.infer[*index as usize] == Some(Type::Int)
        {
            self.infer[*index as usize] = Some(arg.clone());
        }
        let (param, arg) = (self.solved(param), self.solved(arg));
        match (&param, &arg) {
            _ if param == arg => true,
            (Type::Infer(index), other) | (other, Type::Infer(index)) => {
                if other.any(&|part| part == &Type::Infer(*index)) {
                    return false;
                }
                let found = match other {
                    Type::Sequence(parts, false) => Type::Tuple(parts.clone()),
                    other => other.clone(),
                };
                self.infer[*index as usize] = Some(found);
                true
            }
            (Type::Poison | Type::DontCare | Type::Dots, _) | (_, Type::Poison | Type::DontCare | Type::Dots) => true,
            (Type::Fields(a, x), Type::Fields(b, y)) => a == b && self.unify_all(x, y),
            (Type::Extern(a, x), Type::Extern(b, y)) => a == b && self.unify_all(x, y),
            (Type::Package(a, x), Type::Package(b, y)) => a == b && self.unify_all(x, y),
            (Type::Stack(a, n), Type::Stack(b, m)) => n == m && self.unify(a, b),
            (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) => self.unify(a, b),
            (Type::Set(a), b) => self.unify(a, b),
            (Type::Tuple(x), Type::Tuple(y) | Type::Sequence(y, false)) => self.unify_all(x, y),
            (Type::Stack(element, _), Type::Sequence(parts, _)) | (Type::List(element), Type::Sequence(parts, _)) => {
                parts.iter().all(|part| self.unify(element, part))
            }
            (Type::Fields(id, args), Type::Sequence(parts, _)) => (0..parts.len()).all(|index| {
                index >= self.program.fields(*id).fields.len() || {
                    let field = self.program.field_type(*id, args, index);
                    self.unify(&field, &parts[index])
                }
            }),
            (Type::Fields(id, args), Type::Record(parts, _)) => parts.iter().all(|(name, part)| {
                self.program.fields(*id).place(name).is_none_or(|index| {
                    let field = self.program.field_type(*id, args, index);
                    self.unify(&field, part)
                })
            }),
            (Type::Signature(..), Type::Signature(..) | Type::Block(..)) => self.unify_blocks(&param, &arg),
            // Converted later, or reported there with a better message.
            _ => !Self::is_open(&param),
        }
    }

    /// Whether two types are equal; `_` equals every type.
    pub(super) fn alike(a: &Type, b: &Type) -> bool {
        let all = |a: &[Type], b: &[Type]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Self::alike(a, b));
        match (a, b) {
            (Type::DontCare | Type::Poison, _) | (_, Type::DontCare | Type::Poison) => true,
            (Type::Fields(a, x), Type::Fields(b, y)) => a == b && all(x, y),
            (Type::Extern(a, x), Type::Extern(b, y)) => a == b && all(x, y),
            (Type::Signature(a, x), Type::Signature(b, y)) => a == b && all(x, y),
            (Type::Block(a, x), Type::Block(b, y)) => a == b && all(x, y),
            (Type::Package(a, x), Type::Package(b, y)) => a == b && all(x, y),
            (Type::Tuple(x), Type::Tuple(y)) => all(x, y),
            (Type::Stack(a, n), Type::Stack(b, m)) => n == m && Self::alike(a, b),
            (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) => Self::alike(a, b),
            _ => a == b,
        }
    }

    fn unify_all(&mut self, params: &[Type], args: &[Type]) -> bool {
        params.len() == args.len() && params.iter().zip(args).all(|(param, arg)| self.unify(param, arg))
    }

    /// Unifies a parser or control with the type that it must have: parameters one by one, without their names.
    pub(super) fn unify_blocks(&mut self, wanted: &Type, found: &Type) -> bool {
        let (Some(wanted), Some(found)) = (self.signature(wanted), self.signature(found)) else { return false };
        if wanted.kind != found.kind {
            return false;
        }
        let (mut left, mut right) = (wanted.params.iter(), found.params.iter());
        loop {
            let (a, b) = match (left.next(), right.next()) {
                (Some(a), Some(b)) => (a, b),
                (None, None) => return true,
                (Some(rest), None) | (None, Some(rest)) if rest.required() => return false,
                _ => continue,
            };
            if a.direction != b.direction || !self.unify(&a.ty, &b.ty) {
                return false;
            }
            if !Self::alike(&self.solved(&a.ty), &self.solved(&b.ty)) {
                return false;
            }
        }
    }

    /// The difference between a parser or control and the type that it must have.
    pub(super) fn block_difference(&self, wanted: &Type, found: &Type) -> Option<String> {
        let name = self.show(found);
        let (wanted, found) = (self.signature(wanted)?, self.signature(found)?);
        if wanted.kind != found.kind {
            return Some(format!("`{name}` is a {}, a {} is needed", found.kind.text(), wanted.kind.text()));
        }
        let (have, need) = (found.params.len(), wanted.params.len());
        if have != need {
            return Some(format!("`{name}` has {have} parameter(s), {need} are needed"));
        }
        let show = |param: &Param| format!("{} {}", param.direction.text(), self.show(&self.solved(&param.ty)));
        let mut pairs = wanted.params.iter().zip(&found.params);
        let (a, b) = pairs
            .find(|(a, b)| a.direction != b.direction || !Self::alike(&self.solved(&a.ty), &self.solved(&b.ty)))?;
        Some(format!("parameter `{}` of `{name}` is `{}`, `{}` is needed", b.name, show(b), show(a)))
    }
}
