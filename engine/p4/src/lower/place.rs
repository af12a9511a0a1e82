// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places: storage that can be read and written (spec section 6.7).

use std::rc::Rc;

use num_bigint::BigUint;

use crate::ast::BinaryOp as Op;
use crate::ir::{self, HeaderRef, Index, Place, StmtKind, Ty};
use crate::source::Span;
use crate::typed::{Expr, ExprKind};
use crate::types::Type;

use super::fold;
use super::storage::{Lvalue, Storage};
use super::value::Value;
use super::{Binding, Lowered, Lowerer};

impl Lvalue {
    /// The part of a struct, header or union.
    pub(crate) fn part(&self, index: usize) -> Option<Lvalue> {
        match self {
            Lvalue::Storage(Storage::Struct(parts) | Storage::Union(parts), at) => {
                Some(Lvalue::Storage(parts.get(index)?.clone(), at.clone()))
            }
            Lvalue::Storage(Storage::Header(header), at) => {
                Some(Lvalue::Storage(header.fields.get(index)?.clone(), at.clone()))
            }
            Lvalue::Storage(Storage::Stack(stack), None) => Some(stack.elements.get(index)?.clone().into()),
            Lvalue::Choice(at, places) => {
                let parts: Option<Vec<Lvalue>> = places.iter().map(|place| place.part(index)).collect();
                Some(Lvalue::Choice(at.clone(), parts?.into()))
            }
            _ => None,
        }
    }

    /// The number of elements, if it is a stack.
    pub(crate) fn len(&self) -> u32 {
        match self {
            Lvalue::Storage(Storage::Stack(stack), _) => stack.elements.len() as u32,
            Lvalue::Choice(_, places) => places.first().map_or(0, Lvalue::len),
            _ => 0,
        }
    }

    /// The header, if it is one.
    pub(crate) fn header(&self) -> Option<HeaderRef> {
        match self {
            Lvalue::Storage(Storage::Header(header), index) => {
                Some(HeaderRef { header: header.id, index: index.clone() })
            }
            _ => None,
        }
    }
}

impl Lowerer<'_> {
    /// The place of an expression.
    pub(crate) fn place(&mut self, expr: &Expr) -> Lowered<Lvalue> {
        let span = expr.span;
        let part = match &expr.kind {
            ExprKind::Var(id) => match &self.bindings[id.index()] {
                Some(Binding::Place(place)) => return Ok(place.clone()),
                _ => None,
            },
            ExprKind::Field(of, index) => self.place(of)?.part(*index as usize),
            ExprKind::Element(of, index) => {
                let stack = self.place(of)?;
                let index = self.expr(index)?;
                return self.element(&stack, index, span);
            }
            ExprKind::Next(of) => {
                let stack = self.place(of)?;
                if !self.extracting {
                    self.beyond_bmv2("`next` outside of `extract`", None, span);
                    self.verify_next(&stack, span)?;
                }
                let index = self.next_index(&stack, span)?;
                return self.element(&stack, Value::Scalar(index), span);
            }
            ExprKind::Last(of) => {
                let stack = self.place(of)?;
                let index = self.last_index(&stack, span)?;
                return self.element(&stack, Value::Scalar(index), span);
            }
            ExprKind::Slice(of, hi, lo) => return Ok(Lvalue::Slice(Rc::new(self.place(of)?), *hi, *lo)),
            ExprKind::PlusSlice(of, lo) => {
                let of_place = self.place(of)?;
                let lo = self.index_expr(lo)?;
                let width = self.scalar_ty(&self.concrete(&expr.ty)).map_or(0, |ty| ty.width);
                return Ok(Lvalue::Bits(Rc::new(of_place), Rc::new(lo), width));
            }
            _ => None,
        };
        match part {
            Some(part) => Ok(part),
            None => self.internal(span, "this is not a place"),
        }
    }

    /// A number used as an index.
    pub(crate) fn index_expr(&mut self, expr: &Expr) -> Lowered<ir::Expr> {
        let value = self.expr(expr)?;
        self.scalar_of(value, Ty::bits(32), expr.span)
    }

    /// An element of a stack.
    fn element(&mut self, stack: &Lvalue, index: Value, span: Span) -> Lowered<Lvalue> {
        let index = self.scalar_of(index, Ty::bits(32), span)?;
        if let Some(number) = fold::number(&index) {
            let place = usize::try_from(&number).ok().and_then(|number| stack.part(number));
            return match place {
                Some(place) => Ok(place),
                None => self.fail(
                    span,
                    crate::diagnostics::Problem::IndexOutOfRange { index: number.to_string(), len: stack.len() },
                ),
            };
        }
        match stack {
            Lvalue::Storage(Storage::Stack(storage), None) => match storage.id {
                Some(id) => {
                    let index = Index { stack: id, expr: Box::new(index) };
                    Ok(Lvalue::Storage(storage.elements[0].clone(), Some(index)))
                }
                None => {
                    let places = storage.elements.iter().cloned().map(Lvalue::from).collect();
                    Ok(Lvalue::Choice(Rc::new(index), places))
                }
            },
            Lvalue::Choice(outer, places) => {
                let inner: Lowered<Vec<Lvalue>> =
                    places.iter().map(|place| self.element(place, Value::Scalar(index.clone()), span)).collect();
                Ok(Lvalue::Choice(outer.clone(), inner?.into()))
            }
            _ => self.internal(span, "this is not a stack"),
        }
    }

    /// `nextIndex` of a stack.
    pub(crate) fn next_index(&mut self, stack: &Lvalue, span: Span) -> Lowered<ir::Expr> {
        match stack {
            Lvalue::Storage(Storage::Stack(storage), None) if storage.next_index.is_some() => {
                let slot = storage.next_index.expect("just asked");
                Ok(fold::load(slot, Ty::bits(32), span))
            }
            _ => self.unsupported(span, "`next` and `last` of a stack that is itself an element"),
        }
    }

    /// `lastIndex` of a stack: one less, modulo 2^32.
    pub(crate) fn last_index(&mut self, stack: &Lvalue, span: Span) -> Lowered<ir::Expr> {
        let next = self.next_index(stack, span)?;
        let one = fold::constant(&1.into(), Ty::bits(32), span);
        Ok(fold::binary(Op::Sub, next, one, span))
    }

    /// Stores the run-time indices of a place, so that it remains the same place.
    pub(crate) fn freeze_place(&mut self, place: Lvalue) -> Lowered<Lvalue> {
        Ok(match place {
            Lvalue::Storage(storage, Some(index)) => {
                let expr = self.freeze_scalar(*index.expr)?;
                Lvalue::Storage(storage, Some(Index { stack: index.stack, expr: Box::new(expr) }))
            }
            Lvalue::Slice(of, hi, lo) => Lvalue::Slice(Rc::new(self.freeze_place((*of).clone())?), hi, lo),
            Lvalue::Bits(of, lo, width) => {
                let of = self.freeze_place((*of).clone())?;
                Lvalue::Bits(Rc::new(of), Rc::new(self.freeze_scalar((*lo).clone())?), width)
            }
            Lvalue::Choice(index, places) => {
                let index = self.freeze_scalar((*index).clone())?;
                let places: Lowered<Vec<Lvalue>> =
                    places.iter().map(|place| self.freeze_place(place.clone())).collect();
                Lvalue::Choice(Rc::new(index), places?.into())
            }
            other => other,
        })
    }

    pub(crate) fn freeze_scalar(&mut self, expr: ir::Expr) -> Lowered<ir::Expr> {
        let (ty, span) = (expr.ty, expr.span);
        match self.freeze(Value::Scalar(expr), &Type::Bool)? {
            Value::Scalar(expr) => Ok(expr),
            _ => {
                let _ = ty;
                self.internal(span, "a scalar stays one")
            }
        }
    }

    /// The value in a place.
    pub(crate) fn read(&mut self, place: &Lvalue, span: Span) -> Lowered<Value> {
        match place {
            Lvalue::Storage(storage, index) => Ok(self.read_storage(storage, index.as_ref(), span)),
            Lvalue::Slice(of, hi, lo) => {
                let of = self.read_scalar(of, span)?;
                Ok(Value::Scalar(fold::slice(of, *hi, *lo, span)))
            }
            Lvalue::Bits(of, lo, width) => {
                let of = self.read_scalar(of, span)?;
                Ok(Value::Scalar(bits_at(of, (**lo).clone(), *width, span)))
            }
            Lvalue::Choice(index, places) => {
                let values: Lowered<Vec<Value>> = places.iter().map(|place| self.read(place, span)).collect();
                self.choose(index, values?, span)
            }
            Lvalue::Ignore => self.internal(span, "nothing can be read from `_`"),
        }
    }

    fn read_scalar(&mut self, place: &Lvalue, span: Span) -> Lowered<ir::Expr> {
        match self.read(place, span)? {
            Value::Scalar(expr) => Ok(expr),
            _ => self.internal(span, "bits are taken from scalars only"),
        }
    }

    fn read_storage(&self, storage: &Storage, index: Option<&Index>, span: Span) -> Value {
        let at = |slot| Place { slot, index: index.cloned() };
        let all = |parts: &[Storage]| parts.iter().map(|part| self.read_storage(part, index, span)).collect();
        match storage {
            Storage::Scalar(slot) => Value::Scalar(fold::load_place(at(*slot), self.out.slots[slot.index()].ty, span)),
            Storage::Varbit(slot) => Value::Varbit(at(*slot), self.out.slots[slot.index()].ty.width),
            Storage::Struct(parts) => Value::Struct(all(parts)),
            Storage::Union(parts) => Value::Union(all(parts)),
            Storage::Header(header) => {
                let valid = fold::load_place(at(self.valid_slot(header.id)), Ty::BOOL, span);
                Value::Header { valid, fields: all(&header.fields) }
            }
            Storage::Stack(stack) => Value::Stack {
                elements: all(&stack.elements),
                next_index: stack.next_index.map(|slot| fold::load(slot, Ty::bits(32), span)),
            },
        }
    }

    /// The value that a run-time index selects; an index beyond the last value selects the last.
    fn choose(&mut self, index: &ir::Expr, mut values: Vec<Value>, span: Span) -> Lowered<Value> {
        let Some(mut result) = values.pop() else { return self.internal(span, "an empty stack") };
        for (number, value) in values.into_iter().enumerate().rev() {
            let number = fold::constant(&number.into(), index.ty, span);
            let cond = fold::equal(index.clone(), number, span);
            result = self.mux_values(&cond, value, result, span)?;
        }
        Ok(result)
    }

    /// `cond ? then : otherwise` part by part.
    pub(crate) fn mux_values(&mut self, cond: &ir::Expr, then: Value, otherwise: Value, span: Span) -> Lowered<Value> {
        let mut all = |a: Vec<Value>, b: Vec<Value>| -> Lowered<Vec<Value>> {
            a.into_iter().zip(b).map(|(a, b)| self.mux_values(cond, a, b, span)).collect()
        };
        Ok(match (then, otherwise) {
            (Value::Scalar(a), Value::Scalar(b)) => Value::Scalar(fold::mux(cond.clone(), a, b, span)),
            (Value::Struct(a), Value::Struct(b)) => Value::Struct(all(a, b)?),
            (Value::Union(a), Value::Union(b)) => Value::Union(all(a, b)?),
            (Value::Header { valid: x, fields: a }, Value::Header { valid: y, fields: b }) => {
                let fields = all(a, b)?;
                Value::Header { valid: fold::mux(cond.clone(), x, y, span), fields }
            }
            (Value::Stack { elements: a, next_index: x }, Value::Stack { elements: b, next_index: y }) => {
                let elements = all(a, b)?;
                let next_index = x.zip(y).map(|(x, y)| fold::mux(cond.clone(), x, y, span));
                Value::Stack { elements, next_index }
            }
            _ => return self.unsupported(span, "a choice between values of this type"),
        })
    }

    /// Writes a value to a place.
    pub(crate) fn store(&mut self, place: &Lvalue, value: Value, span: Span) -> Lowered<()> {
        match place {
            Lvalue::Storage(storage, index) => self.store_storage(storage, index.as_ref(), value, span),
            Lvalue::Slice(of, hi, lo) => {
                let old = self.read_scalar(of, span)?;
                let new = self.scalar_of(value, Ty::bits(hi - lo + 1), span)?;
                let new = replace_bits(old, new, *hi, *lo, span);
                self.store(of, Value::Scalar(new), span)
            }
            Lvalue::Bits(of, lo, width) => {
                let old = self.read_scalar(of, span)?;
                let new = self.scalar_of(value, Ty::bits(*width), span)?;
                let new = replace_bits_at(old, new, (**lo).clone(), *width, span);
                self.store(of, Value::Scalar(new), span)
            }
            Lvalue::Choice(index, places) => {
                let index = (**index).clone();
                let mut cases = Vec::with_capacity(places.len());
                for (number, place) in places.iter().enumerate() {
                    let (code, ()) = self.collect(|lowerer| lowerer.store(place, value.clone(), span))?;
                    cases.push((vec![BigUint::from(number)], code));
                }
                self.emit(StmtKind::Switch { value: index, cases, default: Vec::new() });
                Ok(())
            }
            Lvalue::Ignore => Ok(()),
        }
    }

    fn store_storage(&mut self, storage: &Storage, index: Option<&Index>, value: Value, span: Span) -> Lowered<()> {
        let at = |slot| Place { slot, index: index.cloned() };
        match (storage, value) {
            (Storage::Scalar(slot), value @ (Value::Scalar(_) | Value::Int(_))) => {
                let src = self.scalar_of(value, self.out.slots[slot.index()].ty, span)?;
                self.emit(StmtKind::Assign { dst: at(*slot), src });
            }
            (Storage::Varbit(slot), Value::Varbit(from, width)) => {
                let src = fold::load_place(from, Ty::bits(width), span);
                self.emit(StmtKind::Assign { dst: at(*slot), src });
            }
            (Storage::Struct(parts), Value::Struct(values)) => {
                for (part, value) in parts.iter().zip(values) {
                    self.store_storage(part, index, value, span)?;
                }
            }
            (Storage::Header(_), Value::Header { valid, fields }) => {
                self.store_header(storage, index, valid, fields, span)?;
            }
            (Storage::Union(parts), Value::Union(values)) => {
                for (part, value) in parts.iter().zip(values) {
                    let (Storage::Header(_), Value::Header { valid, fields }) = (part, value) else {
                        return self.internal(span, "members of unions are headers");
                    };
                    self.copy_header(part, index, valid, fields, span)?;
                }
            }
            (Storage::Stack(stack), Value::Stack { elements, next_index }) => {
                for (part, value) in stack.elements.iter().zip(elements) {
                    self.store_storage(part, None, value, span)?;
                }
                if let (Some(slot), Some(next)) = (stack.next_index, next_index) {
                    self.emit(StmtKind::Assign { dst: slot.into(), src: next });
                }
            }
            _ => return self.internal(span, "the value does not have the shape of its place"),
        }
        Ok(())
    }

    /// Assigns a header, including its validity; other members of its union become invalid.
    fn store_header(
        &mut self,
        storage: &Storage,
        index: Option<&Index>,
        valid: ir::Expr,
        fields: Vec<Value>,
        span: Span,
    ) -> Lowered<()> {
        let Storage::Header(header) = storage else { return self.internal(span, "a header was expected") };
        match (fold::truth(&valid), header.union) {
            (Some(true), Some(_)) => self.invalidate_siblings(storage, index),
            (None, Some(_)) => {
                let (then, ()) = self.collect(|lowerer| {
                    lowerer.invalidate_siblings(storage, index);
                    Ok(())
                })?;
                self.emit(StmtKind::If { cond: valid.clone(), then, otherwise: Vec::new() });
            }
            _ => {}
        }
        self.copy_header(storage, index, valid, fields, span)
    }

    fn copy_header(
        &mut self,
        storage: &Storage,
        index: Option<&Index>,
        valid: ir::Expr,
        fields: Vec<Value>,
        span: Span,
    ) -> Lowered<()> {
        let Storage::Header(header) = storage else { return self.internal(span, "a header was expected") };
        let target = HeaderRef { header: header.id, index: index.cloned() };
        match fold::truth(&valid) {
            Some(false) => {
                self.emit(StmtKind::SetInvalid(target));
                return Ok(());
            }
            Some(true) => self.emit(StmtKind::SetValid(target)),
            None => {
                let slot = self.valid_slot(header.id);
                self.emit(StmtKind::Assign { dst: Place { slot, index: index.cloned() }, src: valid });
            }
        }
        for (field, value) in header.fields.iter().zip(fields) {
            self.store_storage(field, index, value, span)?;
        }
        Ok(())
    }

    /// Makes the other members of a header's union invalid (spec section 8.18).
    pub(crate) fn invalidate_siblings(&mut self, storage: &Storage, index: Option<&Index>) {
        let Storage::Header(header) = storage else { return };
        let Some(union) = header.union else { return };
        for sibling in self.unions[union].clone() {
            if sibling != header.id {
                let target = HeaderRef { header: sibling, index: index.cloned() };
                self.emit(StmtKind::SetInvalid(target));
            }
        }
    }
}

/// `width` bits starting at a run-time position.
pub(crate) fn bits_at(of: ir::Expr, lo: ir::Expr, width: u32, span: Span) -> ir::Expr {
    let unsigned = Ty::bits(of.ty.width);
    let shifted = fold::binary(Op::Shr, fold::cast(of, unsigned, span), lo, span);
    fold::cast(shifted, Ty::bits(width), span)
}

/// A number with bits `hi..=lo` replaced.
fn replace_bits(old: ir::Expr, new: ir::Expr, hi: u32, lo: u32, span: Span) -> ir::Expr {
    let ty = old.ty;
    let mut result = new;
    if lo > 0 {
        result = fold::concat(result, fold::slice(old.clone(), lo - 1, 0, span), false, span);
    }
    if hi + 1 < ty.width {
        result = fold::concat(fold::slice(old, ty.width - 1, hi + 1, span), result, false, span);
    }
    fold::cast(result, ty, span)
}

/// A number with `width` bits replaced, starting at a run-time position.
fn replace_bits_at(old: ir::Expr, new: ir::Expr, lo: ir::Expr, width: u32, span: Span) -> ir::Expr {
    let (ty, unsigned) = (old.ty, Ty::bits(old.ty.width));
    let ones = fold::cast(fold::constant(&(crate::arith::power(width) - 1), Ty::bits(width), span), unsigned, span);
    let mask = fold::binary(Op::Shl, ones, lo.clone(), span);
    let kept = fold::binary(Op::BitAnd, fold::cast(old, unsigned, span), fold::not(mask), span);
    let moved = fold::binary(Op::Shl, fold::cast(new, unsigned, span), lo, span);
    fold::cast(fold::binary(Op::BitOr, kept, moved, span), ty, span)
}
