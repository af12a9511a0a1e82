// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statements (spec section 12).

use num_bigint::BigInt;
use rustc_hash::FxHashMap;

use crate::ast::{self, BinaryOp, Block, Decl, StmtKind as Ast, SwitchCase as AstCase, VarDecl};
use crate::diagnostics::Problem;
use crate::source::Span;
use crate::typed::{Expr, ExprKind, Stmt, StmtKind, SwitchCase, TableId, VarId, VarKind};
use crate::types::Type;

use super::{Checker, Place, Symbol};

/// Value of a `switch` label, in the type of the `switch` expression.
#[derive(PartialEq, Eq, Hash)]
enum LabelValue {
    Number(BigInt),
    /// Member of an enum, or an error.
    Member(u32),
}

impl Checker<'_> {
    /// The statements of a block, in a new scope.
    pub(super) fn block_statements(&mut self, block: &Block) -> Vec<Stmt> {
        self.scoped(|checker| block.stmts.iter().filter_map(|stmt| checker.statement(stmt)).collect())
    }

    fn body(&mut self, stmt: &ast::Stmt) -> Vec<Stmt> {
        self.scoped(|checker| checker.statement(stmt).into_iter().collect())
    }

    /// Checks a statement; `None` if it is broken or needs no code.
    pub(super) fn statement(&mut self, stmt: &ast::Stmt) -> Option<Stmt> {
        let span = stmt.span;
        self.allowed_here(&stmt.kind, span);
        let kind = match &stmt.kind {
            Ast::Empty => return None,
            Ast::Decl(decl) => self.local_statement(decl)?,
            Ast::Call(call) => {
                let call = self.expr(call);
                match call.kind {
                    ExprKind::Call(_) => StmtKind::Call(call),
                    _ => return None, // folded, or broken
                }
            }
            Ast::Assign { dst, op, src } => self.assign(dst, *op, src, span)?,
            Ast::Block(block) => StmtKind::Block(self.block_statements(block)),
            Ast::If { cond, then, otherwise } => {
                let cond = self.condition(cond);
                let then = self.body(then);
                let otherwise = otherwise.as_ref().map_or(Vec::new(), |otherwise| self.body(otherwise));
                StmtKind::If(cond, then, otherwise)
            }
            Ast::Return(value) => self.return_stmt(value.as_ref(), span)?,
            Ast::Exit => StmtKind::Exit,
            Ast::Break | Ast::Continue => {
                let is_break = matches!(stmt.kind, Ast::Break);
                if self.loops == 0 {
                    let what = if is_break { "break" } else { "continue" };
                    self.error(span, Problem::OutsideLoop { what });
                    return None;
                }
                if is_break { StmtKind::Break } else { StmtKind::Continue }
            }
            Ast::Switch { value, cases } => self.switch(value, cases, span)?,
            Ast::For { init, cond, update, body } => self.for_loop(init, cond, update, body),
            Ast::ForIn { ty, name, collection, body } => self.for_in(ty, name, collection, body)?,
        };
        Some(Stmt { kind, span })
    }

    /// Reports statements that are not allowed in the current kind of code.
    fn allowed_here(&mut self, kind: &Ast, span: Span) {
        let what = match (kind, self.place) {
            (Ast::Return(_), Place::State) => "return",
            (Ast::Exit, Place::State | Place::Function) => "exit",
            (Ast::For { .. } | Ast::ForIn { .. }, Place::State) => "for",
            // BMv2's actions have jumps, but only on conditions.
            (Ast::Switch { .. }, Place::State | Place::Action) => "switch",
            _ => return,
        };
        let whole = match self.place {
            Place::State => "a parser",
            Place::Action => "an action",
            _ => "a function",
        };
        self.error(span, Problem::StatementHere { what, whole });
    }

    fn local_statement(&mut self, decl: &Decl) -> Option<StmtKind> {
        match decl {
            Decl::Var(decl) => {
                let (var, init) = self.variable(decl)?;
                Some(StmtKind::Var(var, init))
            }
            Decl::Const(decl) => {
                self.constant(decl);
                None
            }
            Decl::Instance(decl) => {
                self.instance(decl);
                None
            }
            _ => unreachable!("the parser makes no other declarations of statements"),
        }
    }

    pub(super) fn variable(&mut self, decl: &VarDecl) -> Option<(VarId, Option<Expr>)> {
        let ty = self.value_type(&decl.ty);
        let objects = matches!(ty, Type::Extern(..) | Type::Signature(..) | Type::Block(..) | Type::Package(..));
        if objects || matches!(ty, Type::String | Type::Int | Type::Void | Type::List(_)) {
            let problem = Problem::VariableType { ty: self.show(&ty) };
            let entry = self.diagnostics.error(decl.ty.span, problem);
            if objects {
                entry.help(format!("to create an instance, write its arguments: `T(...) {};`", decl.name.name));
            }
            self.declare(&decl.name, Symbol::Poison);
            return None;
        }
        // The name is not yet visible in its own initializer.
        let init = decl.init.as_ref().map(|init| self.expr_as(init, &ty));
        let var = self.new_var(&decl.name, ty, VarKind::Variable);
        self.declare(&decl.name, Symbol::Var(var));
        Some((var, init))
    }

    fn assign(&mut self, dst: &ast::Expr, op: Option<BinaryOp>, src: &ast::Expr, span: Span) -> Option<StmtKind> {
        let dst = self.expr(dst);
        let dst = self.value_only(dst);
        if !self.is_lvalue(&dst) {
            self.not_writable(&dst);
            self.expr(src);
            return None;
        }
        let Some(op) = op else {
            let ty = dst.ty.clone();
            let src = self.expr_as(src, &ty);
            return Some(StmtKind::Assign(dst, src));
        };
        let src = self.expr(src);
        if !matches!(dst.ty, Type::Bits { .. } | Type::Poison) {
            let problem = Problem::BinaryTypes { op: op.text(), left: self.show(&dst.ty), right: self.show(&src.ty) };
            self.error(span, problem);
            return None;
        }
        // Checked as the binary operation for which it stands.
        let value = self.binary_on(op, dst.clone(), src, span);
        match value.kind {
            ExprKind::Binary(op, _, src) => Some(StmtKind::Compound(dst, op, *src)),
            _ => None,
        }
    }

    fn not_writable(&mut self, dst: &Expr) {
        let root = {
            let mut root = dst;
            while let ExprKind::Field(of, _) | ExprKind::Element(of, _) | ExprKind::Slice(of, ..) = &root.kind {
                root = of;
            }
            root
        };
        let declared = match root.kind {
            ExprKind::Var(id) => Some(self.program.vars[id.index()].span),
            ExprKind::Const(id) => Some(self.program.consts[id.index()].span),
            _ => None,
        };
        let entry = self.diagnostics.error(dst.span, Problem::NotWritable {});
        if let Some(declared) = declared {
            entry.label(declared, "declared read-only here");
        }
    }

    fn return_stmt(&mut self, value: Option<&ast::Expr>, span: Span) -> Option<StmtKind> {
        let returns = self.returns.clone().unwrap_or(Type::Poison);
        match (value, &returns) {
            (_, Type::Poison) => {
                if let Some(value) = value {
                    self.expr(value);
                }
                None
            }
            (None, Type::Void) => Some(StmtKind::Return(None)),
            (Some(value), Type::Void) => {
                self.expr(value);
                self.error(value.span, Problem::ReturnsNothing {});
                None
            }
            (None, _) => {
                let problem = Problem::ReturnsValue { ty: self.show(&returns) };
                self.error(span, problem);
                Some(StmtKind::Return(None))
            }
            (Some(value), _) => Some(StmtKind::Return(Some(self.expr_as(value, &returns)))),
        }
    }

    fn switch(&mut self, value: &ast::Expr, cases: &[AstCase], span: Span) -> Option<StmtKind> {
        let value = self.expr(value);
        self.default_last(cases);
        if let Type::ActionRun(table) = value.ty {
            return Some(self.switch_action(value, table, cases));
        }
        let fits = match &value.ty {
            Type::Bits { .. } | Type::Enum(_) | Type::Int | Type::Error => true,
            Type::Poison => {
                for body in cases.iter().filter_map(|case| case.body.as_ref()) {
                    self.block_statements(body);
                }
                return None;
            }
            _ => false,
        };
        if !fits {
            let problem = Problem::SwitchType { ty: self.show(&value.ty) };
            self.error(span, problem);
            return None;
        }
        let mut seen: FxHashMap<LabelValue, Span> = FxHashMap::default();
        let ty = value.ty.clone();
        let cases = self.switch_cases(cases, |checker, label| {
            let label = checker.expr(label);
            let label = checker.coerce(label, &ty);
            if label.ty.is_poison() {
                return None;
            }
            if !checker.is_known(&label) {
                checker.error(label.span, Problem::NotConstant {});
                return None;
            }
            let number = checker.int_value(&label).map(LabelValue::Number);
            let value = number.or_else(|| match checker.literal(&label)? {
                ExprKind::Int(number) => Some(LabelValue::Number(number)),
                ExprKind::Enum(_, member) => Some(LabelValue::Member(member)),
                ExprKind::Error(code) => Some(LabelValue::Member(code)),
                _ => None,
            });
            if let Some(value) = value {
                if let Some(&first) = seen.get(&value) {
                    let entry = checker.diagnostics.error(label.span, Problem::DuplicateLabel {});
                    entry.label(first, "first given here");
                }
                seen.entry(value).or_insert(label.span);
            }
            Some(label)
        });
        Some(StmtKind::SwitchValue { value, cases })
    }

    fn default_last(&mut self, cases: &[AstCase]) {
        let Some(place) = cases.iter().position(|case| case.label.is_none()) else { return };
        if let Some(after) = cases.get(place + 1) {
            let first = cases[place].label_span;
            let entry = self.diagnostics.error(after.label_span, Problem::AfterDefault {});
            entry.label(first, "the default is here");
        }
    }

    /// `switch (table.apply().action_run)`
    fn switch_action(&mut self, value: Expr, table: TableId, cases: &[AstCase]) -> StmtKind {
        let apply = match value.kind {
            ExprKind::Field(apply, _) => *apply,
            _ => value,
        };
        let mut seen: Vec<(usize, Span)> = Vec::new();
        let cases = self.switch_cases(cases, |checker, label| {
            let ast::ExprKind::Path(path) = &label.kind else {
                checker.error(label.span, Problem::ActionLabel {});
                return None;
            };
            let actions = &checker.program.tables[table.index()].actions;
            let place =
                actions.iter().position(|entry| checker.program.actions[entry.action.index()].name == path.name.name);
            let Some(place) = place else {
                let span = checker.program.tables[table.index()].span;
                let problem = Problem::NotInActionList { action: path.name.name.clone() };
                checker.diagnostics.error(label.span, problem).label(span, "the table");
                return None;
            };
            if let Some((_, first)) = seen.iter().find(|(known, _)| *known == place) {
                checker.diagnostics.error(label.span, Problem::DuplicateLabel {}).label(*first, "first given here");
            }
            seen.push((place, label.span));
            Some(place)
        });
        StmtKind::SwitchAction { apply, cases }
    }

    /// Checks cases. Labels without a body share the body of the next case.
    fn switch_cases<L>(
        &mut self,
        cases: &[AstCase],
        mut label: impl FnMut(&mut Self, &ast::Expr) -> Option<L>,
    ) -> Vec<SwitchCase<L>> {
        let mut result = Vec::new();
        let (mut labels, mut default) = (Vec::new(), false);
        for case in cases {
            match &case.label {
                Some(expr) => labels.extend(label(self, expr)),
                None => default = true,
            }
            if let Some(body) = &case.body {
                let body = self.block_statements(body);
                result.push(SwitchCase { labels: std::mem::take(&mut labels), default, body });
                default = false;
            }
        }
        if default || !labels.is_empty() {
            result.push(SwitchCase { labels, default, body: Vec::new() });
        }
        result
    }

    fn for_loop(&mut self, init: &[ast::Stmt], cond: &ast::Expr, update: &[ast::Stmt], body: &ast::Stmt) -> StmtKind {
        self.scoped(|checker| {
            let init = init.iter().filter_map(|stmt| checker.statement(stmt)).collect();
            let cond = checker.condition(cond);
            let update = update.iter().filter_map(|stmt| checker.statement(stmt)).collect();
            checker.loops += 1;
            let body = checker.body(body);
            checker.loops -= 1;
            StmtKind::For { init, cond, update, body }
        })
    }

    fn for_in(
        &mut self,
        ty: &ast::Type,
        name: &ast::Ident,
        collection: &ast::Expr,
        body: &ast::Stmt,
    ) -> Option<StmtKind> {
        let ty = self.ty(ty);
        let collection = self.expr(collection);
        let element = match &collection.ty {
            Type::Set(element) => (**element).clone(),
            Type::Stack(element, _) | Type::List(element) => (**element).clone(),
            Type::Sequence(parts, false) => {
                let wanted = Type::tuple(vec![ty.clone(); parts.len()]);
                let collection = self.coerce(collection, &wanted);
                return self.for_in_body(name, ty, collection, body);
            }
            Type::Poison => Type::Poison,
            other => {
                let problem = Problem::NotACollection { ty: self.show(other) };
                self.error(collection.span, problem);
                Type::Poison
            }
        };
        let collection = match collection.kind {
            ExprKind::Range(lo, hi) => {
                let (lo, hi) = (self.coerce(*lo, &ty), self.coerce(*hi, &ty));
                Expr { kind: ExprKind::Range(Box::new(lo), Box::new(hi)), ty: Type::set(ty.clone()), ..collection }
            }
            _ if !element.is_poison() && !self.fits(&element, &ty) => {
                let problem = Problem::Mismatch { expected: self.show(&ty), found: self.show(&element) };
                self.refuse(collection.span, problem)
            }
            _ => collection,
        };
        self.for_in_body(name, ty, collection, body)
    }

    fn for_in_body(&mut self, name: &ast::Ident, ty: Type, collection: Expr, body: &ast::Stmt) -> Option<StmtKind> {
        let broken = collection.ty.is_poison();
        let (var, body) = self.scoped(|checker| {
            let var = checker.new_var(name, ty, VarKind::Variable);
            checker.declare(name, Symbol::Var(var));
            checker.loops += 1;
            let body = checker.body(body);
            checker.loops -= 1;
            (var, body)
        });
        (!broken).then_some(StmtKind::ForIn { var, collection, body })
    }
}
