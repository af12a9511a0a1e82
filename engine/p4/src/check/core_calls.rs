// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that the language or `core.p4` defines: sizes of types, `extract`, `emit`, `lookahead`, `static_assert`.

use crate::ast::{self, Ident};
use crate::diagnostics::Problem;
use crate::source::Span;
use crate::typed::{Arg, Call, Callee, Expr, ExprKind, FunctionKind};
use crate::types::Type;

use super::Checker;

impl Checker<'_> {
    /// `minSizeInBits()` and the related methods (spec section 9).
    pub(super) fn size_call(&mut self, ty: &Type, member: &Ident, call: &ast::Call, span: Span) -> Expr {
        if !call.args.is_empty() {
            let name = member.name.clone();
            return self.refuse(span, Problem::ArgumentCount { name, wanted: 0, found: call.args.len() });
        }
        if !call.type_args.is_empty() {
            let ty = member.name.to_string();
            return self.refuse(span, Problem::TypeArguments { ty, wanted: 0, found: call.type_args.len() });
        }
        let max = member.name.starts_with("max");
        let Some(size) = self.size_in_bits(ty, max) else {
            let problem = Problem::NoSize { ty: self.show(ty) };
            return self.refuse(span, problem);
        };
        let size = if member.name.ends_with("Bytes") { size.div_ceil(8) } else { size };
        Expr { kind: ExprKind::Int(size.into()), ty: Type::Int, span }
    }

    fn size_in_bits(&self, ty: &Type, max: bool) -> Option<u64> {
        Some(match ty {
            Type::Bool => 1,
            Type::Bits { width, .. } => u64::from(*width),
            Type::Varbit(width) => {
                if max {
                    u64::from(*width)
                } else {
                    0
                }
            }
            Type::Enum(_) => match self.underlying(ty) {
                Type::Bits { width, .. } => u64::from(width),
                _ => return None,
            },
            Type::New(id) => self.size_in_bits(&self.program.newtypes[id.index()].ty, max)?,
            Type::Stack(element, len) => self.size_in_bits(element, max)? * u64::from(*len),
            Type::Tuple(parts) | Type::Sequence(parts, false) => {
                let sizes: Option<Vec<u64>> = parts.iter().map(|part| self.size_in_bits(part, max)).collect();
                sizes?.iter().sum()
            }
            Type::Fields(id, args) => {
                let decl = self.program.fields(*id);
                let sizes: Option<Vec<u64>> = (0..decl.fields.len())
                    .map(|index| self.size_in_bits(&self.program.field_type(*id, args, index), max))
                    .collect();
                let sizes = sizes?;
                match decl.kind {
                    ast::FieldsKind::Union if max => sizes.into_iter().max().unwrap_or(0),
                    ast::FieldsKind::Union => sizes.into_iter().min().unwrap_or(0),
                    _ => sizes.iter().sum(),
                }
            }
            _ => return None,
        })
    }

    /// Rules of `packet_in` and `packet_out` that their signatures cannot express (spec sections 13.8, 16.1).
    pub(super) fn check_core_call(&mut self, call: &Call, span: Span) {
        let Callee::Method(object, method) = &call.callee else { return };
        let Type::Extern(id, _) = &object.ty else { return };
        let (object, method) = (&*self.program.externs[id.index()].name, &self.program.functions[method.index()]);
        let Some(Arg::Expr(first)) = call.args.first().map(|(_, arg)| arg) else {
            if (object, &*method.name) == ("packet_in", "lookahead")
                && let [ty] = &call.type_args[..]
                && !matches!(ty, Type::Param(_))
                && (self.size_in_bits(ty, false).is_none()
                    || self.size_in_bits(ty, false) != self.size_in_bits(ty, true))
            {
                let problem = Problem::NoSize { ty: self.show(ty) };
                self.error(span, problem);
            }
            return;
        };
        let ty = self.unwrap_newtype(&first.ty);
        let fits = match (object, &*method.name) {
            ("packet_in", "extract") => self.is_header(&ty) || matches!(ty, Type::Param(_) | Type::Poison),
            ("packet_out", "emit") => {
                matches!(ty, Type::Fields(..) | Type::Stack(..) | Type::Param(_) | Type::Poison | Type::Tuple(_))
            }
            _ => true,
        };
        if !fits {
            let problem = Problem::NotAHeader { ty: self.show(&first.ty) };
            return self.error(first.span, problem);
        }
        if (object, &*method.name) == ("packet_in", "extract")
            && let Type::Fields(id, _) = &ty
        {
            self.one_varbit(*id, first.span);
            let varies = self.size_in_bits(&ty, false) != self.size_in_bits(&ty, true);
            match (varies, call.args.len()) {
                (true, 1) => self.error(first.span, Problem::ExtractNeedsSize { ty: self.show(&ty) }),
                (false, 2) => self.error(first.span, Problem::ExtractFixed { ty: self.show(&ty) }),
                _ => {}
            }
        }
    }

    /// A header that is extracted can have only one field of variable size.
    fn one_varbit(&mut self, id: crate::types::FieldsId, span: Span) {
        let fields = &self.program.fields(id).fields;
        let mut varbits = fields.iter().filter(|field| matches!(field.ty, Type::Varbit(_)));
        if let (Some(first), Some(second)) = (varbits.next(), varbits.next()) {
            let (first, second) = (first.span, second.span);
            let entry = self.diagnostics.error(span, Problem::SecondVarbit {});
            entry.label(first, "the first one").label(second, "the second one");
        }
    }

    /// Evaluates `static_assert` (spec section 18.5) if its condition is already known.
    pub(super) fn fold_static_assert(&mut self, expr: Expr) -> Expr {
        let ExprKind::Call(call) = &expr.kind else { return expr };
        let Callee::Function(id) = call.callee else { return expr };
        let function = &self.program.functions[id.index()];
        if !matches!(function.kind, FunctionKind::Extern) || &*function.name != "static_assert" {
            return expr;
        }
        let Some((_, Arg::Expr(check))) = call.args.iter().find(|(place, _)| *place == 0) else { return expr };
        let message = call.args.iter().find(|(place, _)| *place == 1).and_then(|(_, arg)| match arg {
            Arg::Expr(message) => match self.literal(message) {
                Some(ExprKind::String(text)) => Some(text.to_string()),
                _ => None,
            },
            Arg::Ignore => None,
        });
        match self.bool_value(check) {
            Some(true) => Expr { kind: ExprKind::Bool(true), ..expr },
            Some(false) => {
                let message = message.map_or(String::new(), |message| format!(": {message}"));
                self.refuse(expr.span, Problem::StaticAssert { message })
            }
            None if check.ty.is_poison() => expr,
            None => self.refuse(check.span, Problem::NotConstant {}),
        }
    }
}
