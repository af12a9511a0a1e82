//! Constructors and instances (spec sections 8.21, 11.3).

use crate::ast::{self, Argument, Decl, Direction, Ident, InstanceDecl, TypeKind};
use crate::diagnostics::Problem;
use crate::source::Span;
use crate::token::Name;
use crate::typed::{
    Arg, Args, Construct, Constructor, Expr, ExprKind, FunctionId, FunctionKind, Instance, InstanceId, Local, Param,
};
use crate::types::{Type, TypeParamId};

use super::{Checker, Place, Symbol};

impl Checker<'_> {
    /// `Type(args)` as a value.
    pub(super) fn construct_expr(&mut self, ty: &ast::Type, args: &[Argument], span: Span) -> Expr {
        if matches!(self.place, Place::Action | Place::Function | Place::Apply | Place::State) {
            return self.refuse(span, Problem::InstanceHere {});
        }
        match self.construct(ty, args, span) {
            Some((construct, ty)) => Expr { kind: ExprKind::Construct(Box::new(construct)), ty, span },
            None => Self::poison(span),
        }
    }

    /// A constructor and its arguments, and the type of what it makes.
    fn construct(&mut self, ast_ty: &ast::Type, args: &[Argument], span: Span) -> Option<(Construct, Type)> {
        let ty = self.open_type(ast_ty);
        match &ty {
            Type::Poison => {
                for value in args.iter().filter_map(|arg| arg.value.as_ref()) {
                    self.expr(value);
                }
                None
            }
            Type::Extern(id, given) => {
                let (id, given) = (*id, given.clone());
                let decl = &self.program.externs[id.index()];
                let (constructors, type_params) = (decl.constructors.clone(), decl.type_params.clone());
                if constructors.is_empty() {
                    let problem = Problem::NoConstructor { ty: self.show(&ty) };
                    self.error(span, problem);
                    return None;
                }
                let constructor = self.overload(&constructors, args, span)?;
                let params = self.program.functions[constructor.index()].params.clone();
                let name = decl_name(ast_ty);
                let (args, type_args) = self.constructor_args(&name, &type_params, &given, &params, args, span)?;
                let construct = Construct { what: Constructor::Extern(constructor), args };
                Some((construct, Type::Extern(id, type_args.into())))
            }
            Type::Block(id) => {
                let id = *id;
                let params = self.program.blocks[id.index()].constructor.clone();
                let (args, _) = self.constructor_args(&decl_name(ast_ty), &[], &[], &params, args, span)?;
                Some((Construct { what: Constructor::Block(id), args }, ty))
            }
            Type::Package(id, given) => {
                let (id, given) = (*id, given.clone());
                let decl = &self.program.packages[id.index()];
                let (params, type_params) = (decl.params.clone(), decl.type_params.clone());
                let name = decl_name(ast_ty);
                let (args, type_args) = self.constructor_args(&name, &type_params, &given, &params, args, span)?;
                Some((Construct { what: Constructor::Package(id), args }, Type::Package(id, type_args.into())))
            }
            _ => {
                let problem = Problem::NotConstructible { ty: self.show(&ty) };
                self.error(span, problem);
                None
            }
        }
    }

    fn constructor_args(
        &mut self,
        name: &Name,
        type_params: &[TypeParamId],
        given: &[Type],
        params: &[Param],
        args: &[Argument],
        span: Span,
    ) -> Option<(Args, Vec<Type>)> {
        let declared = params.first().map_or(span, |param| param.span);
        let places = self.match_arguments(name, declared, params, args, span)?;
        let fresh = self.fresh_args(type_params, given);
        let mut checked: Args = Vec::with_capacity(args.len());
        for (arg, place) in args.iter().zip(places) {
            let param = &params[place];
            let Some(value) = &arg.value else {
                self.error(arg.span, Problem::IgnoredArgument { param: param.name.clone() });
                return None;
            };
            let value = self.within(self.constructor_place(), |checker| checker.expr(value));
            if value.ty.is_poison() {
                return None;
            }
            if !self.is_known(&value) {
                self.error(value.span, Problem::ArgumentNotKnown { param: param.name.clone() });
                return None;
            }
            let wanted = Self::with_args(&param.ty, type_params, &fresh);
            if !self.unify(&wanted, &value.ty) {
                let problem = Problem::ArgumentType {
                    param: param.name.clone(),
                    expected: self.show(&self.solved(&wanted)),
                    found: self.show(&value.ty),
                };
                self.diagnostics.error(value.span, problem).label(param.span, "declared here");
                return None;
            }
            checked.push((place, Arg::Expr(value)));
        }
        for (place, arg) in &mut checked {
            let wanted = self.solved(&Self::with_args(&params[*place].ty, type_params, &fresh));
            if let Arg::Expr(value) = arg {
                let value_expr = std::mem::replace(value, Self::poison(span));
                *value = self.coerce(value_expr, &wanted);
            }
        }
        let type_args: Vec<Type> = fresh.iter().map(|arg| self.solved(arg)).collect();
        Some((checked, type_args))
    }

    /// Constructors may be nested where they are allowed at all.
    fn constructor_place(&self) -> Place {
        self.place
    }

    /// `Type(args) name;`
    pub(super) fn instance(&mut self, decl: &InstanceDecl) -> Option<InstanceId> {
        if !matches!(self.place, Place::TopLevel | Place::Control | Place::Parser) {
            self.error(decl.name.span, Problem::InstanceHere {});
            return None;
        }
        if let TypeKind::Stack(..) = decl.ty.kind {
            self.error(decl.ty.span, Problem::ArrayOfInstances {});
            return None;
        }
        let result = self.construct(&decl.ty, &decl.args, decl.name.span);
        self.annotations(&decl.annotations);
        let Some((construct, ty)) = result else {
            self.declare(&decl.name, Symbol::Poison);
            return None;
        };
        if self.place == Place::TopLevel && matches!(ty, Type::Block(_)) {
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
        let methods = self.abstract_methods(decl, &ty);
        self.program.instances[id.index()].methods = methods;
        Some(id)
    }

    /// The nameless instance of `Type.apply(...)`, which p4c names after its type.
    pub(super) fn direct_instance(&mut self, ty: &Type, span: Span) -> Option<InstanceId> {
        let (Type::Block(block), Some(owner)) = (ty, self.block) else {
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
            if decl.init.is_some() {
                self.error(decl.name.span, Problem::InitNotExtern {});
            }
            return Vec::new();
        };
        let (id, args) = (*id, args.clone());
        let is_abstract = |method: &FunctionId| {
            matches!(self.program.functions[method.index()].kind, FunctionKind::Method { is_abstract: true, .. })
        };
        let methods = &self.program.externs[id.index()].methods;
        let mut missing: Vec<FunctionId> = methods.iter().copied().filter(is_abstract).collect();
        if missing.is_empty() && decl.init.is_some() {
            let problem = Problem::NoAbstractMethods { ty: self.show(ty) };
            self.error(decl.name.span, problem);
            return Vec::new();
        }
        let mut implemented = Vec::new();
        let owner = self.method_owner.replace(ty.clone());
        self.scopes.push();
        for member in decl.init.iter().flatten() {
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
        let optional = |method: &FunctionId| {
            let annotations = &self.program.functions[method.index()].annotations;
            annotations.iter().any(|annotation| &*annotation.name.name == "optional")
        };
        let missing: Vec<FunctionId> = missing.into_iter().filter(|method| !optional(method)).collect();
        for method in missing {
            let method = &self.program.functions[method.index()];
            let problem = Problem::MethodMissing { method: method.name.clone() };
            self.diagnostics.error(decl.name.span, problem).label(method.span, "declared here");
        }
        implemented
    }

    /// The abstract method that a function implements, as its place among those still missing.
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
        let fits = wanted.params.len() == found.params.len()
            && wanted.params.iter().zip(&found.params).all(|(a, b)| same(a, b))
            && Self::with_args(&wanted.returns, &type_params, args) == found.returns
            && found.type_params.is_empty();
        if !fits {
            let (span, problem) = (wanted.span, Problem::MethodMismatch { method: name.name.clone() });
            self.diagnostics.error(name.span, problem).label(span, "declared here");
        }
        Some(place)
    }

    /// Constructor parameters have no direction and are known when the program is compiled.
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

/// The name in a type, for messages.
fn decl_name(ty: &ast::Type) -> Name {
    match &ty.kind {
        TypeKind::Name(path) | TypeKind::Specialized(path, _) => path.name.name.clone(),
        _ => "constructor".into(),
    }
}
