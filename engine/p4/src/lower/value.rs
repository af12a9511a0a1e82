// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values in the shape of their type.

use std::rc::Rc;

use num_bigint::BigInt;

use crate::ast::FieldsKind;
use crate::externs::Handle;
use crate::ir::{self, Place, Ty};
use crate::source::Span;
use crate::token::Name;
use crate::typed::ExternId;
use crate::types::Type;

use super::fold;
use super::storage::{Lvalue, Storage};
use super::{Lowered, Lowerer};

/// A value: an expression for a scalar, parts for anything larger.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Scalar(ir::Expr),
    /// An `int`, which exists only at compile time.
    Int(BigInt),
    String(Name),
    /// A `varbit` in storage.
    Varbit(Place, u32),
    /// Struct or tuple.
    Struct(Vec<Value>),
    Header {
        valid: ir::Expr,
        fields: Vec<Value>,
    },
    Union(Vec<Value>),
    Stack {
        elements: Vec<Value>,
        next_index: Option<ir::Expr>,
    },
    List(Vec<Value>),
    Object(Object),
    Void,
}

/// Index into the lowerer's parser and control instances.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ObjectId(pub(crate) u32);

/// An instance.
#[derive(Clone, Debug)]
pub(crate) enum Object {
    Block(ObjectId),
    Extern(Rc<ExternObject>),
    Package(Rc<PackageObject>),
}

/// An instance of an extern object.
#[derive(Clone, Debug)]
pub(crate) struct ExternObject {
    pub(crate) id: ExternId,
    pub(crate) type_args: Rc<[Type]>,
    /// Its lowered form, from the architecture.
    pub(crate) handle: Handle,
}

/// An instance of a package.
#[derive(Clone, Debug)]
pub(crate) struct PackageObject {
    pub(crate) name: Name,
    pub(crate) args: Vec<Option<Value>>,
}

impl Value {
    /// Whether the value is constant.
    pub(crate) fn is_constant(&self) -> bool {
        match self {
            Value::Scalar(expr) => matches!(expr.kind, ir::ExprKind::Const(_)),
            Value::Int(_) | Value::String(_) | Value::Object(_) | Value::Void => true,
            Value::Varbit(..) => false,
            Value::Struct(parts) | Value::Union(parts) | Value::List(parts) => parts.iter().all(Value::is_constant),
            // An invalid header's fields are never copied.
            Value::Header { valid, fields } => match fold::truth(valid) {
                Some(valid) => !valid || fields.iter().all(Value::is_constant),
                None => false,
            },
            Value::Stack { elements, next_index } => {
                elements.iter().all(Value::is_constant)
                    && next_index.as_ref().is_none_or(|next| matches!(next.kind, ir::ExprKind::Const(_)))
            }
        }
    }
}

impl Lowerer<'_> {
    /// Default value of the type (spec section 7.3): zeros, with invalid headers.
    pub(crate) fn default_value(&mut self, ty: &Type, span: Span) -> Lowered<Value> {
        let ty = self.concrete(ty);
        if let Some(scalar) = self.scalar_ty(&ty) {
            return Ok(Value::Scalar(fold::constant(&BigInt::ZERO, scalar, span)));
        }
        Ok(match &ty {
            Type::Int => Value::Int(BigInt::ZERO),
            Type::String => Value::String("".into()),
            Type::Void => Value::Void,
            Type::Varbit(_) => return self.empty_varbit(&ty, span),
            Type::List(_) => Value::List(Vec::new()),
            _ => {
                let parts = self.part_types(&ty);
                let values = parts.iter().map(|part| self.default_value(part, span));
                let values = values.collect::<Lowered<Vec<_>>>()?;
                self.assemble(&ty, values, false, span)
            }
        })
    }

    /// An empty `varbit`: a local variable of width 0.
    fn empty_varbit(&mut self, ty: &Type, span: Span) -> Lowered<Value> {
        let storage = self.temp_storage(ty)?;
        let Storage::Varbit(slot) = storage else {
            return self.internal(span, "a `varbit` is stored as something else");
        };
        let bits = &self.out.slots[slot.index()];
        let value = Value::Varbit(slot.into(), bits.ty.width);
        if let Some(width) = bits.varbit_width {
            let src = fold::constant(&BigInt::ZERO, self.out.slots[width.index()].ty, span);
            self.emit(ir::StmtKind::Assign { dst: width.into(), src });
        }
        Ok(value)
    }

    /// Types of the parts of a struct, header, union, tuple or stack.
    pub(crate) fn part_types(&self, ty: &Type) -> Vec<Type> {
        match ty {
            Type::Fields(id, args) => {
                let count = self.program.fields(*id).fields.len();
                (0..count).map(|index| self.program.field_type(*id, args, index)).collect()
            }
            Type::Tuple(parts) | Type::Sequence(parts, _) => parts.to_vec(),
            Type::Stack(element, len) => vec![(**element).clone(); *len as usize],
            _ => Vec::new(),
        }
    }

    /// A value of the type from its parts; `valid` is the validity of a header.
    pub(crate) fn assemble(&self, ty: &Type, parts: Vec<Value>, valid: bool, span: Span) -> Value {
        match ty {
            Type::Fields(id, _) => match self.program.fields(*id).kind {
                FieldsKind::Struct => Value::Struct(parts),
                FieldsKind::Header => Value::Header { valid: fold::boolean(valid, span), fields: parts },
                FieldsKind::Union => Value::Union(parts),
            },
            Type::Stack(element, _) => {
                let counts =
                    matches!(**element, Type::Fields(id, _) if self.program.fields(id).kind != FieldsKind::Struct);
                let next_index = counts.then(|| fold::constant(&BigInt::ZERO, Ty::bits(32), span));
                Value::Stack { elements: parts, next_index }
            }
            Type::List(_) => Value::List(parts),
            _ => Value::Struct(parts),
        }
    }

    /// Stores a value in temporaries, so that later code cannot change it.
    pub(crate) fn freeze(&mut self, value: Value, ty: &Type) -> Lowered<Value> {
        if value.is_constant() {
            return Ok(value);
        }
        if let Value::Scalar(expr) = value {
            let slot = self.temp(expr.ty);
            let (ty, span) = (expr.ty, expr.span);
            self.emit(ir::StmtKind::Assign { dst: slot.into(), src: expr });
            return Ok(Value::Scalar(fold::load(slot, ty, span)));
        }
        let storage = self.temp_storage(ty)?;
        let place = Lvalue::from(storage);
        self.store(&place, value, self.span)?;
        self.read(&place, self.span)
    }

    /// The scalar in a value; a number takes the type `ty`.
    pub(crate) fn scalar_of(&mut self, value: Value, ty: Ty, span: Span) -> Lowered<ir::Expr> {
        match value {
            Value::Scalar(expr) => Ok(expr),
            Value::Int(value) => Ok(fold::constant(&value, ty, span)),
            _ => self.internal(span, "a scalar was expected"),
        }
    }

    /// Whether two values are equal (spec sections 8.9, 8.12, 8.17).
    pub(crate) fn values_equal(&mut self, a: &Value, b: &Value, span: Span) -> Lowered<ir::Expr> {
        Ok(match (a, b) {
            (Value::Scalar(a), Value::Scalar(b)) => fold::equal(a.clone(), b.clone(), span),
            (Value::Int(a), Value::Int(b)) => fold::boolean(a == b, span),
            (Value::String(a), Value::String(b)) => fold::boolean(a == b, span),
            (Value::Varbit(a, width), Value::Varbit(b, _)) => {
                let ty = Ty::bits(*width);
                let (a, b) = (fold::load_place(a.clone(), ty, span), fold::load_place(b.clone(), ty, span));
                fold::equal(a, b, span)
            }
            (Value::Struct(a), Value::Struct(b))
            | (Value::Union(a), Value::Union(b))
            | (Value::List(a), Value::List(b)) => self.all_equal(a, b, span)?,
            (Value::Stack { elements: a, .. }, Value::Stack { elements: b, .. }) => self.all_equal(a, b, span)?,
            (Value::Header { valid: x, fields: a }, Value::Header { valid: y, fields: b }) => {
                let fields = self.all_equal(a, b, span)?;
                let both = fold::and(fold::and(x.clone(), y.clone()), fields);
                let neither = fold::and(fold::not(x.clone()), fold::not(y.clone()));
                fold::or(both, neither)
            }
            _ => return self.internal(span, "values of different shape are compared"),
        })
    }

    fn all_equal(&mut self, a: &[Value], b: &[Value], span: Span) -> Lowered<ir::Expr> {
        let pairs = a.iter().zip(b).map(|(a, b)| self.values_equal(a, b, span));
        let mut parts = pairs.collect::<Lowered<Vec<ir::Expr>>>()?;
        // A tree, not a chain, so that the depth of the expression does not grow with the number of fields.
        while parts.len() > 1 {
            let mut rest = parts.into_iter();
            parts = Vec::new();
            while let Some(left) = rest.next() {
                parts.push(match rest.next() {
                    Some(right) => fold::and(left, right),
                    None => left,
                });
            }
        }
        Ok(parts.pop().unwrap_or_else(|| fold::boolean(true, span)))
    }
}
