// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constructors and instances (spec sections 8.21, 11.3).

use std::rc::Rc;

use crate::ast::{self, Argument, Decl, Direction, Ident, InstanceDecl, TypeKind};
use crate::diagnostics::Problem;
use crate::source::Span;
use crate::token::Name;
use crate::typed::{
    Arg, Args, Construct, Constructor, Expr, ExprKind, FunctionId, FunctionKind, Instance, InstanceId, Local, Param,
};
use crate::types::{self, Type, TypeParamId};

use super::{Checker, Place, Symbol};

impl Checker<'_> {
    /// `Type(args)` as a value.
    pub(super) fn construct_expr(&mut self, ty: &ast::Type, args: &[Argument], span: Span) -> Expr {
        if self.place == Place::Action {
            return self.refuse(span, Problem::InstanceHere {});
        }
        match self.construct(ty, args, span) {
            Some((_, ty)) if self.has_abstract_methods(&ty) => {
                let problem = Problem::AbstractNameless { ty: self.show(&ty) };
                self.diagnostics.error(span, problem).help("declare an instance that implements them");
                Self::poison(span)
            }
            Some((construct, ty)) => Expr { kind: ExprKind::Construct(Box::new(construct)), ty, span },
            None => Self::poison(span),
        }
    }

    fn is_abstract(&self, method: FunctionId) -> bool {
        let method = &self.program.functions[method.index()];
        let optional = method.annotations.iter().any(|annotation| &*annotation.name.name == "optional");
        matches!(method.kind, FunctionKind::Method { is_abstract: true }) && !optional
    }

    fn has_abstract_methods(&self, ty: &Type) -> bool {
        let Type::Extern(id, _) = ty else { return false };
        self.program.externs[id.index()].methods.iter().any(|method| self.is_abstract(*method))
    }

    /// Resolves a constructor call. Returns the constructor with its arguments, and the type of the new object.
    fn construct(&mut self, ast_ty: &ast::Type, args: &[Argument], span: Span) -> Option<(Construct, Type)> {
        let name = decl_name(ast_ty);
        let candidates = self.constructors(ast_ty, args, span)?;
        let fitting = Self::fitting(candidates.iter().map(|candidate| &candidate.params[..]), args);
        let chosen = match (&candidates[..], &fitting[..]) {
            ([_], _) => 0,
            (_, [only]) => *only,
            (_, []) => {
                self.error(span, Problem::NoOverload { name, args: args.len() });
                return None;
            }
            _ => {
                self.error(span, Problem::AmbiguousCall { name });
                return None;
            }
        };
        let Candidate { what, type_params, params, ty } = candidates.into_iter().nth(chosen)?;
        let fresh = self.fresh_args(&type_params, type_args(&ty));
        let args = self.constructor_args(&name, &type_params, &fresh, &params, args, span)?;
        let solved: Vec<Type> = fresh.iter().map(|arg| self.solved(arg)).collect();
        if matches!(ty, Type::Extern(_, ref given) if given.is_empty()) {
            self.no_bare_number(&name, &type_params, &params, &args)?;
        }
        let solved = self.finish_type_args(solved, &ty, &type_params, &name, span)?;
        let ty = match ty {
            Type::Extern(id, _) => Type::Extern(id, solved),
            Type::Block(id, _) => Type::Block(id, solved),
            Type::Package(id, _) => Type::Package(id, solved),
            other => other,
        };
        Some((Construct { what, args }, ty))
    }

    /// Reports a number without a width that would determine a type argument; `None` after an error.
    fn no_bare_number(
        &mut self,
        name: &Name,
        type_params: &[TypeParamId],
        params: &[Param],
        args: &Args,
    ) -> Option<()> {
        for (place, arg) in args {
            let (Arg::Expr(value), Type::Param(id)) = (arg, &params[*place].ty) else { continue };
            if value.ty == Type::Int && type_params.contains(id) {
                let param = self.program.type_params[id.0 as usize].clone();
                let problem = Problem::CannotInfer { param, name: name.clone() };
                self.diagnostics.error(value.span, problem).help("give the number a width, as in `8w1`");
                return None;
            }
        }
        Some(())
    }

    /// Completes type arguments that could not be inferred. Those of a parser or control stay open, since its use may
    /// determine them; `_` remains `_`.
    fn finish_type_args(
        &mut self,
        solved: Vec<Type>,
        ty: &Type,
        type_params: &[TypeParamId],
        name: &Name,
        span: Span,
    ) -> Option<types::Args> {
        if matches!(ty, Type::Block(..)) {
            return Some(solved.into());
        }
        let given = !type_args(ty).is_empty();
        let own = |part: &Type| matches!(part, Type::Param(id) if type_params.contains(id));
        let unknown = |arg: &Type| arg.any(&own) || Self::is_open(arg) && matches!(ty, Type::Extern(..));
        let open = solved.iter().position(unknown);
        if let Some(open) = open.filter(|_| !given) {
            let param = self.program.type_params[type_params[open].0 as usize].clone();
            let problem = Problem::CannotInfer { param, name: name.clone() };
            self.diagnostics.error(span, problem).help(format!("give it: `{name}<...>(...)`"));
            return None;
        }
        let closed = |ty: &Type| ty.map(&|part| matches!(part, Type::Infer(_)).then_some(Type::DontCare));
        Some(solved.iter().map(closed).collect())
    }

    /// The constructors that `Type(args)` may call; `None` after an error.
    fn constructors(&mut self, ast_ty: &ast::Type, args: &[Argument], span: Span) -> Option<Vec<Candidate>> {
        let overloads = match &ast_ty.kind {
            TypeKind::Name(path) => match self.scopes.find(&path.name.name, path.absolute).map(|entry| &entry.symbol) {
                Some(Symbol::Overloads(types)) => Some(types.clone()),
                _ => None,
            },
            _ => None,
        };
        let types = match overloads {
            Some(types) => types,
            None => vec![self.open_type(ast_ty)],
        };
        let mut candidates = Vec::new();
        for ty in types {
            match &ty {
                Type::Poison => {
                    for value in args.iter().filter_map(|arg| arg.value.as_ref()) {
                        self.expr(value);
                    }
                    return None;
                }
                Type::Extern(id, _) => {
                    let decl = &self.program.externs[id.index()];
                    candidates.extend(decl.constructors.iter().map(|constructor| Candidate {
                        what: Constructor::Extern(*constructor),
                        type_params: decl.type_params.clone(),
                        params: self.program.functions[constructor.index()].params.clone(),
                        ty: ty.clone(),
                    }));
                }
                Type::Block(id, _) => {
                    let decl = &self.program.blocks[id.index()];
                    let (type_params, params) = (decl.type_params.clone(), decl.constructor.clone());
                    candidates.push(Candidate { what: Constructor::Block(*id), type_params, params, ty });
                }
                Type::Package(id, _) => {
                    let decl = &self.program.packages[id.index()];
                    let (type_params, params) = (decl.type_params.clone(), decl.params.clone());
                    candidates.push(Candidate { what: Constructor::Package(*id), type_params, params, ty });
                }
                _ => {
                    let problem = Problem::NotConstructible { ty: self.show(&ty) };
                    self.error(ast_ty.span.to(span), problem);
                    return None;
                }
            }
        }
        if candidates.is_empty() {
            self.error(span, Problem::NoConstructor { ty: decl_name(ast_ty).to_string() });
            return None;
        }
        Some(candidates)
    }

    fn constructor_args(
        &mut self,
        name: &Name,
        type_params: &[TypeParamId],
        fresh: &[Type],
        params: &[Param],
        args: &[Argument],
        span: Span,
    ) -> Option<Args> {
        let declared = params.first().map_or(span, |param| param.span);
        let places = self.match_arguments(name, declared, params, args, span)?;
        let wanted: Vec<Type> = params.iter().map(|param| Self::with_args(&param.ty, type_params, fresh)).collect();
        let mut checked: Vec<(usize, Expr)> = Vec::with_capacity(args.len());
        for (arg, place) in args.iter().zip(places) {
            let value = self.constructor_arg(arg, &params[place], &wanted[place])?;
            checked.push((place, value));
        }
        // Default values also determine type arguments.
        for (place, param) in params.iter().enumerate() {
            if let Some(default) = param.default.as_ref().filter(|_| !checked.iter().any(|(given, _)| *given == place))
            {
                let ty = default.ty.clone();
                self.unify(&wanted[place], &ty);
            }
        }
        let args = checked.into_iter().map(|(place, value)| {
            let wanted = self.solved(&wanted[place]);
            (place, Arg::Expr(self.coerce(value, &wanted)))
        });
        Some(args.collect())
    }

    fn constructor_arg(&mut self, arg: &Argument, param: &Param, wanted: &Type) -> Option<Expr> {
        let Some(value) = &arg.value else {
            self.error(arg.span, Problem::IgnoredArgument { param: param.name.clone() });
            return None;
        };
        let value = self.expr(value);
        let value = self.value_only(value);
        if value.ty.is_poison() {
            return None;
        }
        if !self.is_known(&value) {
            self.error(value.span, Problem::ArgumentNotKnown { param: param.name.clone() });
            return None;
        }
        if !self.unify(wanted, &value.ty) {
            let problem = Problem::ArgumentType {
                param: param.name.clone(),
                expected: self.show(&self.solved(wanted)),
                found: self.show(&value.ty),
            };
            let difference = self.block_difference(wanted, &value.ty);
            let entry = self.diagnostics.error(value.span, problem).label(param.span, "declared here");
            if let Some(difference) = difference {
                entry.help(difference);
            }
            return None;
        }
        Some(value)
    }

    /// `Type(args) name;`
    pub(super) fn instance(&mut self, decl: &InstanceDecl) -> Option<InstanceId> {
        if !matches!(self.place, Place::TopLevel | Place::Control | Place::Parser) {
            self.error(decl.name.span, Problem::InstanceHere {});
            return None;
        }
        self.annotations(&decl.annotations);
        let (element, sizes) = array_sizes(&decl.ty);
        let Some((construct, element)) = self.construct(element, &decl.args, decl.name.span) else {
            self.declare(&decl.name, Symbol::Poison);
            return None;
        };
        if !sizes.is_empty() && !matches!(element, Type::Extern(..)) {
            self.error(decl.ty.span, Problem::ArrayOfInstances {});
        }
        let mut ty = element.clone();
        for size in sizes {
            let size_value = self.expr(size);
            ty = Type::Stack(Rc::new(ty), self.natural(&size_value, Problem::StackSize {}).unwrap_or(1));
        }
        if self.place == Place::TopLevel && matches!(ty, Type::Block(..)) {
            self.error(decl.name.span, Problem::NotAtTopLevel { what: "an instance of a parser or control" });
        }
        let id = InstanceId(self.program.instances.len() as u32);
        self.program.instances.push(Instance {
            name: decl.name.name.clone(),
            span: decl.name.span,
            annotations: decl.annotations.clone(),
            ty: ty.clone(),
            construct,
            methods: Vec::new(),
        });
        self.declare(&decl.name, Symbol::Instance(id));
        let methods = self.abstract_methods(decl, &element);
        self.program.instances[id.index()].methods = methods;
        Some(id)
    }

    /// The nameless instance of `Type.apply(...)`, which p4c names after its type.
    pub(super) fn direct_instance(&mut self, ty: &Type, span: Span) -> Option<InstanceId> {
        let (Type::Block(block, _), Some(owner)) = (ty, self.block) else {
            self.error(span, Problem::ApplyOutside { what: "a parser or control" });
            return None;
        };
        let (params, name) = {
            let decl = &self.program.blocks[block.index()];
            (decl.constructor.clone(), decl.name.clone())
        };
        if let Some(param) = params.iter().find(|param| param.required()) {
            let problem = Problem::MissingArgument { name, param: param.name.clone() };
            self.error(span, problem);
            return None;
        }
        let construct = Construct { what: Constructor::Block(*block), args: Vec::new() };
        let id = InstanceId(self.program.instances.len() as u32);
        self.program.instances.push(Instance {
            name,
            span,
            annotations: Vec::new(),
            ty: ty.clone(),
            construct,
            methods: Vec::new(),
        });
        self.program.blocks[owner.index()].locals.push(Local::Instance(id));
        Some(id)
    }

    /// Implementations of abstract methods (spec section 11.3.2).
    fn abstract_methods(&mut self, decl: &InstanceDecl, ty: &Type) -> Vec<FunctionId> {
        let Type::Extern(id, args) = ty else {
            if let Some(init) = &decl.init {
                self.error(init.span, Problem::InitNotExtern {});
            }
            return Vec::new();
        };
        let (id, args) = (*id, args.clone());
        let is_abstract = |method: &FunctionId| {
            matches!(self.program.functions[method.index()].kind, FunctionKind::Method { is_abstract: true, .. })
        };
        let methods = &self.program.externs[id.index()].methods;
        let mut missing: Vec<FunctionId> = methods.iter().copied().filter(is_abstract).collect();
        if let Some(init) = decl.init.as_ref().filter(|_| missing.is_empty()) {
            let problem = Problem::NoAbstractMethods { ty: self.show(ty) };
            self.error(init.span, problem);
            return Vec::new();
        }
        let mut implemented = Vec::new();
        let owner = self.method_owner.replace(ty.clone());
        self.scopes.push();
        for member in decl.init.iter().flat_map(|init| &init.members) {
            match member {
                Decl::Function(function) => {
                    let Some(new) = self.function(function) else { continue };
                    let name = &function.prototype.name;
                    match self.implemented(&missing, new, name, id, &args) {
                        Some(place) => _ = missing.remove(place),
                        None => continue,
                    }
                    implemented.push(new);
                }
                Decl::Instance(instance) => {
                    self.within(Place::Control, |checker| checker.instance(instance));
                }
                _ => self.error(decl.name.span, Problem::InstanceHere {}),
            }
        }
        self.scopes.pop();
        self.method_owner = owner;
        missing.retain(|method| self.is_abstract(*method));
        for method in missing {
            let method = &self.program.functions[method.index()];
            let problem = Problem::MethodMissing { method: method.name.clone() };
            self.diagnostics.error(decl.name.span, problem).label(method.span, "declared here");
        }
        implemented
    }

    /// The abstract method that a function implements, as its index in `missing`.
    fn implemented(
        &mut self,
        missing: &[FunctionId],
        new: FunctionId,
        name: &Ident,
        of: crate::typed::ExternId,
        args: &[Type],
    ) -> Option<usize> {
        let place = missing.iter().position(|method| self.program.functions[method.index()].name == name.name);
        let Some(place) = place else {
            self.error(
                name.span,
                Problem::NoMethod { ty: self.show(&Type::Extern(of, args.into())), method: name.name.clone() },
            );
            return None;
        };
        let type_params = self.program.externs[of.index()].type_params.clone();
        let (wanted, found) = (&self.program.functions[missing[place].index()], &self.program.functions[new.index()]);
        let same =
            |a: &Param, b: &Param| a.direction == b.direction && Self::with_args(&a.ty, &type_params, args) == b.ty;
        let fits = wanted.params.len() >= found.params.len()
            && wanted.params[found.params.len()..].iter().all(|rest| !rest.required())
            && wanted.params.iter().zip(&found.params).all(|(a, b)| same(a, b))
            && Self::with_args(&wanted.returns, &type_params, args) == found.returns
            && found.type_params.is_empty();
        if !fits {
            let (span, problem) = (wanted.span, Problem::MethodMismatch { method: name.name.clone() });
            self.diagnostics.error(name.span, problem).label(span, "declared here");
        }
        Some(place)
    }

    /// Declares constructor parameters, which have no direction and are known at compile time.
    pub(super) fn constructor_params(&mut self, params: &[ast::Param]) -> Vec<Param> {
        let params = self.params(params, crate::typed::VarKind::Constructor);
        for param in &params {
            if param.direction != Direction::None {
                self.error(param.span, Problem::ConstructorDirection { param: param.name.clone() });
            }
        }
        params
    }
}

/// A constructor that `Type(args)` may call.
#[derive(Debug)]
struct Candidate {
    what: Constructor,
    type_params: Vec<TypeParamId>,
    params: Vec<Param>,
    ty: Type,
}

/// The type arguments of a type.
fn type_args(ty: &Type) -> &[Type] {
    match ty {
        Type::Extern(_, args) | Type::Block(_, args) | Type::Package(_, args) => args,
        _ => &[],
    }
}

/// The element type of an array type, and the sizes around it, innermost first.
fn array_sizes(ty: &ast::Type) -> (&ast::Type, Vec<&ast::Expr>) {
    match &ty.kind {
        TypeKind::Stack(element, size) => {
            let (element, mut sizes) = array_sizes(element);
            sizes.push(size);
            (element, sizes)
        }
        _ => (ty, Vec::new()),
    }
}

/// The name in a type, for messages.
fn decl_name(ty: &ast::Type) -> Name {
    match &ty.kind {
        TypeKind::Name(path) | TypeKind::Specialized(path, _) => path.name.name.clone(),
        _ => "constructor".into(),
    }
}
