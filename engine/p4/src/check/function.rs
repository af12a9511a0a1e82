// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters, functions, actions and extern declarations (spec sections 6.7, 10, 11, 14.1).

use crate::ast::{self, ActionDecl, Direction, ExternDecl, Function as AstFunction, Ident, Prototype};
use crate::diagnostics::Problem;
use crate::typed::{
    Action, ActionId, Extern, ExternId, Function, FunctionId, FunctionKind, Param, Stmt, StmtKind, VarKind,
};
use crate::types::{Type, TypeParamId};

use super::{Checker, Place, Symbol};

impl Checker<'_> {
    /// Declares type parameters in the current scope.
    pub(super) fn type_params(&mut self, names: &[Ident]) -> Vec<TypeParamId> {
        let mut ids = Vec::with_capacity(names.len());
        for name in names {
            let id = TypeParamId(self.program.type_params.len() as u32);
            self.program.type_params.push(name.name.clone());
            self.declare(name, Symbol::Type(Type::Param(id)));
            ids.push(id);
        }
        ids
    }

    /// Declares parameters in the current scope. `kind` is the kind of a parameter without direction.
    pub(super) fn params(&mut self, params: &[ast::Param], kind: VarKind) -> Vec<Param> {
        let mut result: Vec<Param> = Vec::with_capacity(params.len());
        for param in params {
            self.annotations(&param.annotations);
            let ty = self.ty(&param.ty);
            let ty = self.param_type(ty, param);
            let optional = param.annotations.iter().any(|annotation| &*annotation.name.name == "optional");
            let default = param.default.as_ref().map(|default| {
                if param.direction.writes() || optional {
                    self.error(default.span, Problem::DefaultNotAllowed { param: param.name.name.clone() });
                }
                // Nothing is known about a type parameter yet.
                let is_generic = ty.any(&|part| matches!(part, Type::Param(_)));
                let value = if is_generic { self.expr(default) } else { self.expr_as(default, &ty) };
                if self.is_known(&value) { value } else { self.refuse(default.span, Problem::NotConstant {}) }
            });
            let var_kind = match param.direction {
                Direction::None => kind,
                direction => VarKind::Param(direction),
            };
            let var = self.new_var(&param.name, ty.clone(), var_kind);
            self.declare(&param.name, Symbol::Var(var));
            result.push(Param {
                var,
                name: param.name.name.clone(),
                ty,
                direction: param.direction,
                default,
                optional,
                span: param.span,
                annotations: param.annotations.clone(),
            });
        }
        result
    }

    /// Refuses types that no parameter can have.
    fn param_type(&mut self, ty: Type, param: &ast::Param) -> Type {
        let objects = matches!(ty, Type::Extern(..) | Type::String | Type::Int);
        let blocks = matches!(ty, Type::Signature(..) | Type::Block(..) | Type::Package(..));
        let problem = match &ty {
            Type::Block(..) | Type::Void | Type::Set(_) => Problem::ParamType { ty: self.show(&ty) },
            _ if (objects || blocks) && param.direction != Direction::None => {
                Problem::ParamDirection { param: param.name.name.clone(), ty: self.show(&ty) }
            }
            _ => return ty,
        };
        self.error(param.span, problem);
        Type::Poison
    }

    /// Refuses parsers, controls and packages among the parameters of things that run.
    pub(super) fn no_blocks(&mut self, params: &[Param]) {
        for param in params {
            if matches!(param.ty, Type::Signature(..) | Type::Package(..)) {
                let problem = Problem::ParamType { ty: self.show(&param.ty) };
                self.error(param.span, problem);
            }
        }
    }

    /// Reports `@optional` parameters: only declarations without a body can have them.
    pub(super) fn no_optional(&mut self, params: &[Param]) {
        for param in params.iter().filter(|param| param.optional) {
            self.error(param.span, Problem::OptionalHere { param: param.name.clone() });
        }
    }

    /// Adds a function to the overloads of its name.
    fn declare_function(&mut self, name: &Ident, id: FunctionId) {
        if let Some(entry) =
            self.scopes.declare(&name.name, super::Entry { symbol: Symbol::Functions(vec![id]), span: name.span })
        {
            let first = entry.span;
            let Symbol::Functions(functions) = &mut entry.symbol else {
                let problem = Problem::Duplicate { name: name.name.clone() };
                self.diagnostics.error(name.span, problem).label(first, "first declared here");
                return;
            };
            functions.push(id);
        }
    }

    fn prototype(&mut self, prototype: &Prototype, kind: FunctionKind) -> FunctionId {
        self.annotations(&prototype.annotations);
        let type_params = self.type_params(&prototype.type_params);
        let params = self.params(&prototype.params, VarKind::Param(Direction::None));
        self.no_blocks(&params);
        if matches!(kind, FunctionKind::User(_)) {
            self.no_optional(&params);
        }
        let returns = match &prototype.returns {
            Some(returns) => self.return_type(returns, &kind),
            None => Type::Void,
        };
        let id = FunctionId(self.program.functions.len() as u32);
        self.program.functions.push(Function {
            name: prototype.name.name.clone(),
            span: prototype.name.span,
            annotations: prototype.annotations.clone(),
            type_params,
            params,
            returns,
            kind,
        });
        id
    }

    fn return_type(&mut self, ty: &ast::Type, kind: &FunctionKind) -> Type {
        let resolved = self.ty(ty);
        let fits = match resolved {
            Type::Signature(..) | Type::Block(..) | Type::Package(..) | Type::Set(_) | Type::DontCare => false,
            Type::Extern(..) => !matches!(kind, FunctionKind::User(_)),
            Type::Int | Type::String => !matches!(kind, FunctionKind::Method { .. }),
            _ => true,
        };
        if !fits {
            let problem = Problem::ReturnType { ty: self.show(&resolved) };
            self.error(ty.span, problem);
            return Type::Poison;
        }
        resolved
    }

    pub(super) fn extern_function(&mut self, prototype: &Prototype) {
        let id = self.scoped(|checker| checker.prototype(prototype, FunctionKind::Extern));
        self.declare_function(&prototype.name, id);
    }

    /// A function with a body.
    pub(super) fn function(&mut self, function: &AstFunction) -> Option<FunctionId> {
        let prototype = &function.prototype;
        let id = self.scoped(|checker| {
            let id = checker.prototype(prototype, FunctionKind::User(Vec::new().into()));
            let returns = checker.program.functions[id.index()].returns.clone();
            let outer = checker.returns.replace(returns.clone());
            let loops = std::mem::take(&mut checker.loops);
            let body = checker.within(Place::Function, |checker| checker.block_statements(&function.body));
            checker.loops = loops;
            checker.returns = outer;
            if returns != Type::Void && !returns.is_poison() && !always_returns(&body) {
                let problem = Problem::MissingReturn { name: prototype.name.name.clone() };
                checker.error(prototype.name.span, problem);
            }
            checker.program.functions[id.index()].kind = FunctionKind::User(body.into());
            id
        });
        self.declare_function(&prototype.name, id);
        Some(id)
    }

    pub(super) fn action(&mut self, action: &ActionDecl) -> ActionId {
        self.annotations(&action.annotations);
        let (params, body) = self.scoped(|checker| {
            let params = checker.params(&action.params, VarKind::ActionData);
            checker.no_blocks(&params);
            checker.no_optional(&params);
            checker.action_params(&params);
            let outer = checker.returns.replace(Type::Void);
            let loops = std::mem::take(&mut checker.loops);
            let body = checker.within(Place::Action, |checker| checker.block_statements(&action.body));
            checker.loops = loops;
            checker.returns = outer;
            (params, body)
        });
        let id = ActionId(self.program.actions.len() as u32);
        self.program.actions.push(Action {
            name: action.name.name.clone(),
            span: action.name.span,
            annotations: action.annotations.clone(),
            params,
            body: body.into(),
            owner: self.block,
        });
        self.declare(&action.name, Symbol::Action(id));
        id
    }

    /// Checks that parameters without direction come last, with types that entries can supply (spec section 14.1).
    fn action_params(&mut self, params: &[Param]) {
        let first = params.iter().position(|param| param.direction == Direction::None).unwrap_or(params.len());
        for param in &params[first..] {
            if param.direction != Direction::None {
                self.error(param.span, Problem::DirectionAfter { param: param.name.clone() });
            }
        }
        for param in params {
            if matches!(param.ty, Type::Extern(..) | Type::Int) {
                let problem = Problem::ParamType { ty: self.show(&param.ty) };
                self.error(param.span, problem);
            }
        }
    }

    pub(super) fn extern_object(&mut self, decl: &ExternDecl) {
        self.annotations(&decl.annotations);
        let known = match self.scopes.find(&decl.name.name, true).map(|entry| &entry.symbol) {
            // This completes a declaration without methods.
            Some(&Symbol::Type(Type::Extern(id, _))) if self.program.externs[id.index()].methods.is_empty() => Some(id),
            _ => None,
        };
        let id = known.unwrap_or(ExternId(self.program.externs.len() as u32));
        let mut object = Extern {
            name: decl.name.name.clone(),
            type_params: Vec::new(),
            constructors: Vec::new(),
            methods: Vec::new(),
        };
        if known.is_none() {
            self.program.externs.push(object.clone());
            self.declare(&decl.name, Symbol::Type(Type::Extern(id, [].into())));
        }
        self.scoped(|checker| {
            object.type_params = checker.type_params(&decl.type_params);
            checker.program.externs[id.index()].type_params = object.type_params.clone();
            for method in &decl.methods {
                let is_constructor = method.returns.is_none();
                let kind = match is_constructor {
                    true => FunctionKind::Constructor,
                    false => FunctionKind::Method { is_abstract: method.is_abstract },
                };
                if !is_constructor && method.name.name == decl.name.name {
                    checker.error(method.name.span, Problem::ConstructorReturns {});
                }
                let function = checker.scoped(|checker| checker.prototype(method, kind));
                checker.no_self_reference(id, function, method);
                if is_constructor {
                    checker.constructor_directions(function);
                    checker.duplicate_signature(&object.constructors, function);
                    object.constructors.push(function);
                } else {
                    checker.duplicate_signature(&object.methods, function);
                    object.methods.push(function);
                }
            }
        });
        self.program.externs[id.index()] = object;
    }

    /// Reports an extern that is used in its own declaration: as in p4c, it is known only after it.
    fn no_self_reference(&mut self, object: ExternId, function: FunctionId, method: &Prototype) {
        let is_object = |ty: &Type| ty.any(&|part| matches!(part, Type::Extern(id, _) if *id == object));
        let function = &self.program.functions[function.index()];
        let returned = method.returns.as_ref().filter(|_| is_object(&function.returns)).map(|ty| ty.span);
        let passed = function.params.iter().filter(|param| is_object(&param.ty)).map(|param| param.span);
        for span in returned.into_iter().chain(passed).collect::<Vec<_>>() {
            let name = self.program.externs[object.index()].name.clone();
            self.error(span, Problem::SelfReference { name });
        }
    }

    fn constructor_directions(&mut self, function: FunctionId) {
        for param in self.program.functions[function.index()].params.clone() {
            if param.direction != Direction::None {
                self.error(param.span, Problem::ConstructorDirection { param: param.name });
            }
        }
    }

    /// Reports methods or constructors that calls cannot distinguish: they must differ in the number or names of their
    /// parameters (spec section 6.8.1).
    fn duplicate_signature(&mut self, known: &[FunctionId], new: FunctionId) {
        let key = |id: FunctionId| {
            let function = &self.program.functions[id.index()];
            let mut names: Vec<_> = function.params.iter().map(|param| param.name.clone()).collect();
            names.sort();
            (function.name.clone(), names)
        };
        if let Some(same) = known.iter().find(|known| key(**known) == key(new)) {
            let first = self.program.functions[same.index()].span;
            let function = &self.program.functions[new.index()];
            let problem = Problem::Duplicate { name: function.name.clone() };
            self.diagnostics
                .error(function.span, problem)
                .label(first, "first declared here, with the same parameters");
        }
    }
}

/// Whether every path through a body ends with `return` or `exit`.
fn always_returns(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Exit => true,
        StmtKind::Block(body) => always_returns(body),
        StmtKind::If(_, then, otherwise) => always_returns(then) && always_returns(otherwise),
        StmtKind::SwitchValue { cases, .. } => {
            cases.iter().any(|case| case.default) && cases.iter().all(|case| always_returns(&case.body))
        }
        _ => false,
    })
}
