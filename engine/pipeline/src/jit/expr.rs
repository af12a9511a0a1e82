// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expressions.
//!
//! A value is an `i64` (up to 64 bits) or `i128` (up to 128 bits) whose bits above its width are 0. A wider value is an
//! address. Signed values have the same form; their operators first extend the sign.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use marklab_p4::ir::{BinaryOp, Expr, ExprKind, Ty, UnaryOp};
use num_bigint::BigUint;

use super::Result;
use super::generator::Generator;
use super::shapes::{is_wide, value_type};
use crate::words::mask;
use marklab_p4::arith::Operator;

impl Generator<'_, '_> {
    pub(super) fn iconst(&mut self, value: i64) -> Value {
        self.b.ins().iconst(types::I64, value)
    }

    /// A constant of `width` bits, which must fit.
    pub(super) fn constant(&mut self, value: &BigUint, width: u32) -> Value {
        match is_wide(width) {
            true => self.wide_constant(value, width),
            false => self.register(value, value_type(width)),
        }
    }

    /// 0 in a register.
    pub(super) fn zero(&mut self, ty: Type) -> Value {
        self.register(&BigUint::ZERO, ty)
    }

    /// A number in a register of type `ty`, which must fit.
    fn register(&mut self, value: &BigUint, ty: Type) -> Value {
        let mut digits = value.iter_u64_digits();
        let mut word = || digits.next().unwrap_or(0) as i64;
        let low = self.b.ins().iconst(types::I64, word());
        if ty == types::I64 {
            return low;
        }
        let high = self.b.ins().iconst(types::I64, word());
        self.b.ins().iconcat(low, high)
    }

    /// Clears the bits above `width`.
    pub(super) fn cut(&mut self, value: Value, width: u32) -> Value {
        let ty = self.type_of(value);
        if width == ty.bits() {
            return value;
        }
        let mask = self.register(&mask(width), ty);
        self.b.ins().band(value, mask)
    }

    fn type_of(&self, value: Value) -> Type {
        self.b.func.dfg.value_type(value)
    }

    /// Widens a value to another type with zeros, or narrows it by dropping the high bits.
    pub(super) fn convert(&mut self, value: Value, ty: Type) -> Value {
        match (self.type_of(value), ty) {
            (types::I64, types::I128) => self.b.ins().uextend(ty, value),
            (types::I128, types::I64) => self.b.ins().ireduce(ty, value),
            _ => value,
        }
    }

    /// Copies the sign bit of a value of `width` bits into all bits above it.
    fn extend_sign(&mut self, value: Value, width: u32) -> Value {
        let unused = i64::from(self.type_of(value).bits() - width);
        if unused == 0 || width == 0 {
            return value;
        }
        let up = self.b.ins().ishl_imm_u(value, unused);
        self.b.ins().sshr_imm_u(up, unused)
    }

    /// A condition as an integer of any type: not 0 if it holds.
    pub(super) fn condition(&mut self, expr: &Expr) -> Result<Value> {
        if let ExprKind::Binary(op, left, right) = &expr.kind
            && let Some(compared) = self.comparison(*op, left, right)?
        {
            return Ok(compared);
        }
        self.eval(expr)
    }

    /// A value as a 64-bit number, saturated.
    pub(super) fn number(&mut self, expr: &Expr) -> Result<Value> {
        let value = self.eval(expr)?;
        if is_wide(expr.ty.width) {
            return Ok(self.wide_number(value, expr.ty.width));
        }
        if self.type_of(value) == types::I64 {
            return Ok(value);
        }
        let (low, high) = self.b.ins().isplit(value);
        let most = self.iconst(-1);
        let fits = self.b.ins().icmp_imm_u(IntCC::Equal, high, 0);
        Ok(self.b.ins().select(fits, low, most))
    }

    pub(super) fn eval(&mut self, expr: &Expr) -> Result<Value> {
        if let Some((operator, operands)) = by_call(expr) {
            let operands =
                operands.into_iter().map(|of| Ok((self.eval(of)?, of.ty))).collect::<Result<Vec<(Value, Ty)>>>()?;
            return self.operate(operator, &operands, expr.ty);
        }
        let width = expr.ty.width;
        let ty = value_type(width);
        Ok(match &expr.kind {
            ExprKind::Const(value) => self.constant(value, width),
            ExprKind::Load(place) => match self.varbit_width(place) {
                Some(width) => self.varbit_number(place, &width)?,
                None => self.read(place)?,
            },
            ExprKind::Unary(op, of) => {
                let value = self.eval(of)?;
                let result = match op {
                    UnaryOp::Not => self.b.ins().bnot(value),
                    UnaryOp::Neg => self.b.ins().ineg(value),
                };
                self.cut(result, width)
            }
            ExprKind::Binary(op, left, right) => match self.comparison(*op, left, right)? {
                Some(compared) => self.b.ins().uextend(types::I64, compared),
                None => self.arithmetic(*op, left, right, expr)?,
            },
            ExprKind::Mux { cond, then, otherwise } => self.mux(cond, then, otherwise, ty)?,
            ExprKind::Slice { of, hi, lo } => {
                let value = self.eval(of)?;
                let down = self.b.ins().ushr_imm_u(value, i64::from(*lo));
                let narrow = self.convert(down, ty);
                self.cut(narrow, hi - lo + 1)
            }
            ExprKind::Concat(left, right) => {
                let high = self.eval(left)?;
                let low = self.eval(right)?;
                let (high, low) = (self.convert(high, ty), self.convert(low, ty));
                let up = self.shift_left_by(high, right.ty.width);
                self.b.ins().bor(up, low)
            }
            ExprKind::Cast(of) => self.cast(of, expr.ty, ty)?,
            ExprKind::Lookahead { offset } => self.lookahead(*offset, width)?,
            ExprKind::PacketLength => self.packet_length(),
        })
    }

    /// `value << amount`, or 0 if all bits are shifted out. The result is not cut to a width.
    pub(super) fn shift_left_by(&mut self, value: Value, amount: u32) -> Value {
        let ty = self.type_of(value);
        if amount >= ty.bits() {
            return self.zero(ty);
        }
        self.b.ins().ishl_imm_u(value, i64::from(amount))
    }

    fn cast(&mut self, of: &Expr, to: Ty, ty: Type) -> Result<Value> {
        let value = self.eval(of)?;
        if of.ty.signed && to.width > of.ty.width {
            let wide = self.convert(value, ty);
            let extended = self.extend_sign(wide, of.ty.width);
            return Ok(self.cut(extended, to.width));
        }
        let converted = self.convert(value, ty);
        Ok(if to.width < of.ty.width { self.cut(converted, to.width) } else { converted })
    }

    /// `? :` as a branch, since either side may end parsing or count a fault. Plain sides need no branch.
    fn mux(&mut self, cond: &Expr, then: &Expr, otherwise: &Expr, ty: Type) -> Result<Value> {
        let condition = self.condition(cond)?;
        if is_plain(then) && is_plain(otherwise) {
            let (yes, no) = (self.eval(then)?, self.eval(otherwise)?);
            return Ok(self.choose(condition, yes, no));
        }
        let (yes, no, after) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let result = self.b.append_block_param(after, ty);
        self.b.ins().brif(condition, yes, &[], no, &[]);
        for (block, side) in [(yes, then), (no, otherwise)] {
            self.b.switch_to_block(block);
            let value = self.eval(side)?;
            self.b.ins().jump(after, &[value.into()]);
        }
        self.b.switch_to_block(after);
        Ok(result)
    }

    /// One of two values. Cranelift turns `a > b ? a : b` into a maximum, which its x64 back end does not support for
    /// 128 bits. So these are selected in halves, for which it does not do so.
    fn choose(&mut self, condition: Value, yes: Value, no: Value) -> Value {
        if self.type_of(yes) != types::I128 {
            return self.b.ins().select(condition, yes, no);
        }
        let ((yes_low, yes_high), (no_low, no_high)) = (self.b.ins().isplit(yes), self.b.ins().isplit(no));
        let low = self.b.ins().select(condition, yes_low, no_low);
        let high = self.b.ins().select(condition, yes_high, no_high);
        self.b.ins().iconcat(low, high)
    }

    /// The result of a comparison as an `i8`; `None` for other operators, and for wide operands.
    fn comparison(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Result<Option<Value>> {
        if is_wide(left.ty.width) {
            return Ok(None);
        }
        let signed = left.ty.signed;
        let code = match op {
            BinaryOp::Eq => IntCC::Equal,
            BinaryOp::Ne => IntCC::NotEqual,
            BinaryOp::Lt if signed => IntCC::SignedLessThan,
            BinaryOp::Lt => IntCC::UnsignedLessThan,
            BinaryOp::Le if signed => IntCC::SignedLessThanOrEqual,
            BinaryOp::Le => IntCC::UnsignedLessThanOrEqual,
            BinaryOp::Gt if signed => IntCC::SignedGreaterThan,
            BinaryOp::Gt => IntCC::UnsignedGreaterThan,
            BinaryOp::Ge if signed => IntCC::SignedGreaterThanOrEqual,
            BinaryOp::Ge => IntCC::UnsignedGreaterThanOrEqual,
            _ => return Ok(None),
        };
        let (mut a, mut b) = (self.eval(left)?, self.eval(right)?);
        if signed {
            a = self.extend_sign(a, left.ty.width);
            b = self.extend_sign(b, right.ty.width);
        }
        Ok(Some(self.b.ins().icmp(code, a, b)))
    }

    fn arithmetic(&mut self, op: BinaryOp, left: &Expr, right: &Expr, expr: &Expr) -> Result<Value> {
        let width = expr.ty.width;
        let (a, b) = (self.eval(left)?, self.eval(right)?);
        let result = match op {
            BinaryOp::Add => self.b.ins().iadd(a, b),
            BinaryOp::Sub => self.b.ins().isub(a, b),
            BinaryOp::Mul => self.b.ins().imul(a, b),
            BinaryOp::And => return Ok(self.b.ins().band(a, b)),
            BinaryOp::Or => return Ok(self.b.ins().bor(a, b)),
            BinaryOp::Xor => return Ok(self.b.ins().bxor(a, b)),
            BinaryOp::Shl | BinaryOp::Shr => return self.shift(op, a, b, expr),
            BinaryOp::Div | BinaryOp::Mod => return Ok(self.divide(op, a, b)),
            BinaryOp::AddSat | BinaryOp::SubSat if expr.ty.signed => return self.saturate_signed(op, a, b, expr),
            BinaryOp::AddSat | BinaryOp::SubSat => return Ok(self.saturate_unsigned(op, a, b, width)),
            _ => unreachable!("comparisons are handled before"),
        };
        Ok(self.cut(result, width))
    }

    /// Shifts. The machine takes the amount modulo the width of the register; P4 does not.
    fn shift(&mut self, op: BinaryOp, value: Value, amount: Value, expr: &Expr) -> Result<Value> {
        let ty = self.type_of(value);
        let width = expr.ty.width;
        let bound = self.register(&BigUint::from(width), self.type_of(amount));
        let within = self.b.ins().icmp(IntCC::UnsignedLessThan, amount, bound);
        let (shifted, beyond) = match op {
            BinaryOp::Shl => (self.b.ins().ishl(value, amount), self.zero(ty)),
            _ if expr.ty.signed && width > 0 => {
                let extended = self.extend_sign(value, width);
                let all_sign = self.b.ins().sshr_imm_u(extended, i64::from(ty.bits() - 1));
                (self.b.ins().sshr(extended, amount), all_sign)
            }
            _ => (self.b.ins().ushr(value, amount), self.zero(ty)),
        };
        let result = self.choose(within, shifted, beyond);
        Ok(self.cut(result, width))
    }

    /// Division of up to 64 bits. Division by 0 gives 0 and counts a fault.
    fn divide(&mut self, op: BinaryOp, value: Value, divisor: Value) -> Value {
        let by_zero = self.b.ins().icmp_imm_u(IntCC::Equal, divisor, 0);
        let after = self.when(by_zero);
        self.count_fault();
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
        let one = self.iconst(1);
        let safe = self.b.ins().select(by_zero, one, divisor);
        let result = if op == BinaryOp::Div { self.b.ins().udiv(value, safe) } else { self.b.ins().urem(value, safe) };
        let zero = self.iconst(0);
        self.b.ins().select(by_zero, zero, result)
    }

    fn saturate_unsigned(&mut self, op: BinaryOp, a: Value, b: Value, width: u32) -> Value {
        let ty = self.type_of(a);
        if op == BinaryOp::SubSat {
            let fits = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, a, b);
            let difference = self.b.ins().isub(a, b);
            let zero = self.zero(ty);
            return self.choose(fits, difference, zero);
        }
        let most = self.register(&mask(width), ty);
        // `a <= most - b` cannot overflow in either type.
        let room = self.b.ins().isub(most, b);
        let fits = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, a, room);
        let sum = self.b.ins().iadd(a, b);
        self.choose(fits, sum, most)
    }

    /// Signed saturation. It overflows if the sign of the result contradicts the signs of the operands.
    fn saturate_signed(&mut self, op: BinaryOp, a: Value, b: Value, expr: &Expr) -> Result<Value> {
        let (ty, width) = (self.type_of(a), expr.ty.width);
        if width == 0 {
            return Ok(a);
        }
        let (a, b) = (self.extend_sign(a, width), self.extend_sign(b, width));
        let raw = if op == BinaryOp::AddSat { self.b.ins().iadd(a, b) } else { self.b.ins().isub(a, b) };
        let wrapped = self.extend_sign(raw, width);
        // The result, cut to its width, overflowed if both operands (for `-`: a and not b) differ from it in sign.
        let (x, y) = (self.b.ins().bxor(a, wrapped), self.b.ins().bxor(b, wrapped));
        let y = if op == BinaryOp::AddSat { y } else { self.b.ins().bnot(y) };
        let sign = self.b.ins().band(x, y);
        let zero = self.zero(ty);
        let overflow = self.b.ins().icmp(IntCC::SignedLessThan, sign, zero);
        let negative = self.b.ins().icmp(IntCC::SignedLessThan, a, zero);
        let least = self.register(&(BigUint::from(1u32) << (width - 1)), ty);
        let most = self.register(&mask(width - 1), ty);
        let bound = self.choose(negative, least, most);
        let result = self.choose(overflow, bound, wrapped);
        Ok(self.cut(result, width))
    }
}

/// Operator and operands of an expression whose values do not fit into registers.
fn by_call(expr: &Expr) -> Option<(Operator, Vec<&Expr>)> {
    let (operator, operands) = Operator::of(expr)?;
    let divides = matches!(operator, Operator::Binary(BinaryOp::Div | BinaryOp::Mod));
    let wide = |width: u32| is_wide(width) || divides && width > 64;
    (wide(expr.ty.width) || operands.iter().any(|operand| wide(operand.ty.width))).then_some((operator, operands))
}

/// Whether an expression may be evaluated even if its value is not needed: it neither reads the packet nor divides, and
/// has no branch or run-time index.
fn is_plain(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::PacketLength => true,
        ExprKind::Load(place) => place.index.is_none(),
        ExprKind::Unary(_, of) | ExprKind::Cast(of) | ExprKind::Slice { of, .. } => is_plain(of),
        ExprKind::Binary(BinaryOp::Div | BinaryOp::Mod, ..) | ExprKind::Lookahead { .. } | ExprKind::Mux { .. } => {
            false
        }
        ExprKind::Binary(_, left, right) | ExprKind::Concat(left, right) => is_plain(left) && is_plain(right),
    }
}
