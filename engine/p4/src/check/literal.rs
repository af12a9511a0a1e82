// SPDX-License-Identifier: MIT OR Apache-2.0
//! Literals, lists and slices.

use num_bigint::BigInt;

use crate::arith;
use crate::ast::{self, Ident};
use crate::diagnostics::Problem;
use crate::source::Span;
use crate::typed::{Expr, ExprKind};
use crate::types::{Type, bits};

use super::Checker;

impl Checker<'_> {
    pub(super) fn int_literal(&mut self, value: &BigInt, ty: Option<(u32, bool)>, span: Span) -> Expr {
        let Some((width, signed)) = ty else {
            return Expr { kind: ExprKind::Int(value.clone()), ty: Type::Int, span };
        };
        if width == 0 && signed {
            return self.refuse(span, Problem::BadWidth { width: "0".into() });
        }
        self.int_of(value, width, signed, span)
    }

    /// A constant of a fixed-width type; warns if bits are lost.
    pub(super) fn int_of(&mut self, value: &BigInt, width: u32, signed: bool, span: Span) -> Expr {
        let wrapped = arith::wrap(value, width, signed);
        let ty = Type::Bits { width, signed };
        if wrapped != *value && !(signed && BigInt::from(arith::image(value, width)) == *value) {
            let problem = Problem::Truncated { value: value.to_string(), ty: self.show(&ty) };
            self.diagnostics.warning(span, problem);
        }
        Expr { kind: ExprKind::Int(wrapped), ty, span }
    }

    pub(super) fn list(&mut self, items: &[ast::Expr], span: Span) -> Expr {
        let mut parts = Vec::with_capacity(items.len());
        let mut dots = false;
        for (index, item) in items.iter().enumerate() {
            let part = self.expr(item);
            let part = self.value_only(part);
            if part.ty == Type::Dots {
                if index + 1 != items.len() {
                    return self.refuse(part.span, Problem::DotsNotLast {});
                }
                dots = true;
            } else {
                parts.push(part);
            }
        }
        if let Some(void) = parts.iter().find(|part| part.ty == Type::Void) {
            let (span, problem) = (void.span, Problem::NoValue {});
            return self.refuse(span, problem);
        }
        let ty = Type::Sequence(parts.iter().map(|part| part.ty.clone()).collect(), dots);
        Expr { kind: ExprKind::Aggregate(parts), ty, span }
    }

    pub(super) fn record(&mut self, fields: &[(Ident, ast::Expr)], dots: Option<Span>, span: Span) -> Expr {
        let mut parts: Vec<(Ident, Expr)> = Vec::with_capacity(fields.len());
        for (name, value) in fields {
            let value = self.expr(value);
            let value = self.value_only(value);
            if parts.iter().any(|(known, _)| known.name == name.name) {
                self.error(name.span, Problem::DuplicateField { field: name.name.clone() });
                continue;
            }
            parts.push((name.clone(), value));
        }
        let types = parts.iter().map(|(name, value)| (name.name.clone(), value.ty.clone())).collect();
        let ty = Type::Record(types, dots.is_some());
        Expr { kind: ExprKind::Record(parts, dots.is_some()), ty, span }
    }

    /// Width of a value that is to be sliced.
    fn sliced_width(&mut self, of: &Expr) -> Option<u32> {
        match self.underlying(&of.ty) {
            Type::Bits { width, .. } => Some(width),
            Type::Poison => None,
            _ => {
                let problem = Problem::CannotSlice { ty: self.show(&of.ty) };
                self.error(of.span, problem);
                None
            }
        }
    }

    /// A bound of a slice.
    fn bit_index(&mut self, expr: &ast::Expr, width: u32) -> Option<u32> {
        let value = self.expr(expr);
        if value.ty.is_poison() {
            return None;
        }
        let Some(index) = self.int_value(&value) else {
            self.error(expr.span, Problem::SliceNotConstant {});
            return None;
        };
        let fits = u32::try_from(&index).ok().filter(|&index| index < width);
        if fits.is_none() {
            self.error(expr.span, Problem::SliceOutOfRange { index: index.to_string(), width });
        }
        fits
    }

    pub(super) fn slice(&mut self, of: &ast::Expr, hi: &ast::Expr, lo: &ast::Expr, span: Span) -> Expr {
        let of = self.expr(of);
        let Some(width) = self.sliced_width(&of) else { return Self::poison(span) };
        let (Some(high), Some(low)) = (self.bit_index(hi, width), self.bit_index(lo, width)) else {
            return Self::poison(span);
        };
        if low > high {
            return self.refuse(span, Problem::SliceOrder { hi: high, lo: low });
        }
        self.slice_of(of, width, high, low, span)
    }

    fn slice_of(&mut self, of: Expr, width: u32, hi: u32, lo: u32, span: Span) -> Expr {
        let ty = bits(hi - lo + 1);
        if let Some(value) = self.int_value(&of) {
            return Expr { kind: ExprKind::Int(arith::slice(&value, width, hi, lo)), ty, span };
        }
        let of = self.as_underlying(of);
        Expr { kind: ExprKind::Slice(Box::new(of), hi, lo), ty, span }
    }

    /// `of[lo +: size]`
    pub(super) fn plus_slice(&mut self, of: &ast::Expr, lo: &ast::Expr, size: &ast::Expr, span: Span) -> Expr {
        let of = self.expr(of);
        let low = self.expr(lo);
        let size_value = self.expr(size);
        let Some(width) = self.sliced_width(&of) else { return Self::poison(span) };
        let size_value = self.natural(&size_value, Problem::SliceNotConstant {}).filter(|&size| size > 0);
        let Some(size_value) = size_value else {
            return Self::poison(span);
        };
        if let Some(value) = self.int_value(&low) {
            let fits = u32::try_from(&value).ok().filter(|&low| low < width);
            let Some(low) = fits else {
                let problem = Problem::SliceOutOfRange { index: value.to_string(), width };
                return self.refuse(lo.span, problem);
            };
            if low + size_value <= width {
                return self.slice_of(of, width, low + size_value - 1, low, span);
            }
        }
        let low_ty = self.underlying(&low.ty);
        if !matches!(low_ty, Type::Bits { .. } | Type::Int) {
            if low.ty.is_poison() {
                return Self::poison(span);
            }
            let problem = Problem::IndexType { ty: self.show(&low.ty) };
            return self.refuse(lo.span, problem);
        }
        let (of, low) = (self.as_underlying(of), self.as_underlying(low));
        Expr { kind: ExprKind::PlusSlice(Box::new(of), Box::new(low)), ty: bits(size_value), span }
    }
}
