// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of functions, methods, actions, tables, parsers and controls (spec sections 6.7, 8.17 to 8.21).

use std::rc::Rc;

use crate::ast::{self, Argument, BlockKind, Direction, ExprKind as Ast, Ident};
use crate::diagnostics::Problem;
use crate::named::Role;
use crate::source::Span;
use crate::token::Name;
use crate::typed::{ActionId, Arg, Args, Builtin, Call, Callee, Expr, ExprKind, FunctionId, FunctionKind, Param};
use crate::types::{Type, TypeParamId};

use super::{Checker, Place, Symbol};

/// The facts about a callee that a call needs.
struct Signature {
    name: Name,
    span: Span,
    type_params: Vec<TypeParamId>,
    params: Vec<Param>,
    returns: Type,
}

/// The parameters of a parser or control, with type arguments substituted.
pub(super) struct BlockSignature {
    pub(super) kind: BlockKind,
    pub(super) params: Vec<Param>,
}

impl Checker<'_> {
    pub(super) fn call(&mut self, call: &ast::Call, span: Span, hint: Option<&Type>) -> Expr {
        match &call.callee.kind {
            Ast::Path(path) => {
                let Some(entry) = self.lookup(path) else { return self.check_args_only(call, span) };
                match entry.symbol {
                    Symbol::Poison => self.check_args_only(call, span),
                    Symbol::Functions(functions) => self.function_call(&functions, call, span, hint),
                    Symbol::Action(action) => self.action_call(action, call, span),
                    other => {
                        let problem = Problem::NotCallable { name: path.name.name.clone(), what: other.what() };
                        self.refuse(call.callee.span, problem)
                    }
                }
            }
            Ast::Member(of, member) => self.method_call(of, member, call, span, hint),
            Ast::TypeMember(ty, member) => self.type_method_call(ty, member, call, span),
            _ => {
                let callee = self.expr(&call.callee);
                match callee.ty {
                    Type::Poison => callee,
                    _ => self.refuse(callee.span, Problem::CannotCall {}),
                }
            }
        }
    }

    /// Checks the arguments of a call whose callee is broken.
    fn check_args_only(&mut self, call: &ast::Call, span: Span) -> Expr {
        for value in call.args.iter().filter_map(|arg| arg.value.as_ref()) {
            self.expr(value);
        }
        Self::poison(span)
    }

    fn function_call(&mut self, functions: &[FunctionId], call: &ast::Call, span: Span, hint: Option<&Type>) -> Expr {
        let Some(id) = self.overload(functions, &call.args, call.callee.span) else {
            return self.check_args_only(call, span);
        };
        let function = &self.program.functions[id.index()];
        let signature = Signature {
            name: function.name.clone(),
            span: function.span,
            type_params: function.type_params.clone(),
            params: function.params.clone(),
            returns: function.returns.clone(),
        };
        if self.place == Place::SelectCase {
            return self.refuse(span, Problem::CallInSelect {});
        }
        if &*signature.name == "verify" && matches!(function.kind, FunctionKind::Extern) && !self.in_parser() {
            return self.refuse(call.callee.span, Problem::ParserOnly { member: signature.name });
        }
        self.finish_call(Callee::Function(id), &signature, call, span, hint)
    }

    /// The overload that the arguments match: overloads differ in the number or names of their parameters (spec section
    /// 6.8.1).
    pub(super) fn overload(&mut self, functions: &[FunctionId], args: &[Argument], span: Span) -> Option<FunctionId> {
        if let &[only] = functions {
            return Some(only);
        }
        let lists = functions.iter().map(|id| &self.program.functions[id.index()].params[..]);
        let fitting: Vec<FunctionId> = Self::fitting(lists, args).into_iter().map(|place| functions[place]).collect();
        match fitting[..] {
            [only] => Some(only),
            _ => {
                let name = self.program.functions[functions[0].index()].name.clone();
                let problem = match fitting.len() {
                    0 => Problem::NoOverload { name, args: args.len() },
                    _ => Problem::AmbiguousCall { name },
                };
                let candidates: Vec<Span> =
                    functions.iter().map(|id| self.program.functions[id.index()].span).collect();
                let mut entry = self.diagnostics.error(span, problem);
                for candidate in candidates {
                    entry = entry.label(candidate, "candidate");
                }
                entry.done();
                None
            }
        }
    }

    /// Indices of the parameter lists that the arguments match by number and names.
    pub(super) fn fitting<'p>(lists: impl Iterator<Item = &'p [Param]>, args: &[Argument]) -> Vec<usize> {
        let fits = |params: &[Param]| {
            let named = |name: &Ident| params.iter().any(|param| param.name == name.name);
            let given = |place: usize, param: &Param| match args.first() {
                Some(Argument { name: Some(_), .. }) => {
                    args.iter().any(|arg| arg.name.as_ref().is_some_and(|name| name.name == param.name))
                }
                _ => place < args.len(),
            };
            args.len() <= params.len()
                && args.iter().filter_map(|arg| arg.name.as_ref()).all(named)
                && params.iter().enumerate().all(|(place, param)| given(place, param) || !param.required())
        };
        lists.enumerate().filter(|(_, params)| fits(params)).map(|(place, _)| place).collect()
    }

    /// Checks type arguments, arguments and result of a call.
    fn finish_call(
        &mut self,
        callee: Callee,
        signature: &Signature,
        call: &ast::Call,
        span: Span,
        hint: Option<&Type>,
    ) -> Expr {
        let given: Vec<Type> = call.type_args.iter().map(|arg| self.type_argument(arg)).collect();
        if !given.is_empty() && given.len() != signature.type_params.len() {
            let problem = Problem::TypeArguments {
                ty: signature.name.to_string(),
                wanted: signature.type_params.len(),
                found: given.len(),
            };
            self.error(span, problem);
            return self.check_args_only(call, span);
        }
        let fresh = self.fresh_args(&signature.type_params, &given);
        let Some((args, params)) = self.arguments(signature, &fresh, &call.args, span) else {
            return Self::poison(span);
        };
        let returns = Self::with_args(&signature.returns, &signature.type_params, &fresh);
        let is_open = self.solved(&returns).any(&|part| matches!(part, Type::Infer(_)));
        if let Some(hint) = hint.filter(|_| is_open) {
            self.unify(&returns, hint);
        }
        let type_args: Vec<Type> = fresh.iter().map(|arg| self.solved(arg)).collect();
        if !self.type_args_known(signature, &type_args, &given, &args, span) {
            return Self::poison(span);
        }
        if !self.arguments_fit(&params, signature, &args) {
            return Self::poison(span);
        }
        let args = self.coerce_args(args, &params);
        let ty = self.solved(&returns);
        let call = Call { callee, type_args, args };
        self.check_core_call(&call, span);
        let expr = Expr { kind: ExprKind::Call(Box::new(call)), ty, span };
        self.fold_static_assert(expr)
    }

    /// Whether all type arguments are given or can be inferred; reports the first one that is unknown.
    fn type_args_known(
        &mut self,
        signature: &Signature,
        type_args: &[Type],
        given: &[Type],
        args: &Args,
        span: Span,
    ) -> bool {
        for (index, ty) in type_args.iter().enumerate() {
            let unknown = match ty {
                Type::Int if given.is_empty() => true,
                Type::Record(..) | Type::Sequence(..) | Type::Invalid => true,
                ty => Self::is_open(ty) && !self.without_arguments(signature, index, args),
            };
            if !unknown {
                continue;
            }
            let param = self.program.type_params[signature.type_params[index].0 as usize].clone();
            let problem = Problem::CannotInfer { param, name: signature.name.clone() };
            let help = match ty {
                Type::Int => "give the number a width, as in `8w1`".to_string(),
                _ => format!("give it: `{}<...>(...)`", signature.name),
            };
            self.diagnostics.error(span, problem).label(signature.span, "declared here").help(help);
            return false;
        }
        true
    }

    /// Whether the types of parameters may be passed; to be called when the type arguments are known.
    fn arguments_fit(&mut self, types: &[Type], signature: &Signature, args: &Args) -> bool {
        for (place, arg) in args {
            let (Arg::Expr(expr), param) = (arg, &signature.params[*place]) else { continue };
            let problem = match &types[*place] {
                Type::String if param.direction != Direction::None => {
                    Problem::ParamDirection { param: param.name.clone(), ty: "string".into() }
                }
                ty @ (Type::DontCare | Type::Block(..) | Type::Signature(..) | Type::Package(..)) => {
                    Problem::ParamType { ty: self.show(ty) }
                }
                _ => continue,
            };
            self.diagnostics.error(expr.span, problem).label(param.span, "declared here");
            return false;
        }
        true
    }

    /// Whether a type parameter occurs only in optional parameters that are not given.
    fn without_arguments(&self, signature: &Signature, open: usize, args: &Args) -> bool {
        let param = Type::Param(signature.type_params[open]);
        let mentions = |ty: &Type| ty.any(&|part| *part == param);
        !mentions(&signature.returns) && !args.iter().any(|(place, _)| mentions(&signature.params[*place].ty))
    }

    /// Matches arguments to parameters and infers type arguments. Returns the arguments, not yet converted, and the
    /// types of all parameters.
    fn arguments(
        &mut self,
        signature: &Signature,
        fresh: &[Type],
        args: &[Argument],
        span: Span,
    ) -> Option<(Args, Vec<Type>)> {
        let errors = self.diagnostics.errors();
        let places = self.match_arguments(&signature.name, signature.span, &signature.params, args, span);
        let types: Vec<Type> =
            signature.params.iter().map(|param| Self::with_args(&param.ty, &signature.type_params, fresh)).collect();
        let Some(places) = places else {
            for value in args.iter().filter_map(|arg| arg.value.as_ref()) {
                self.expr(value);
            }
            return None;
        };
        let mut checked: Args = Vec::with_capacity(args.len());
        for (arg, &place) in args.iter().zip(&places) {
            let param = &signature.params[place];
            let arg = self.argument(arg, param, &types[place]);
            checked.push((place, arg));
        }
        // Numbers without a width come last: they take the width that the other arguments determine.
        let is_number = |arg: &Arg| matches!(arg, Arg::Expr(expr) if expr.ty == Type::Int);
        for numbers in [false, true] {
            for (place, arg) in checked.iter().filter(|(_, arg)| is_number(arg) == numbers) {
                let Arg::Expr(expr) = arg else { continue };
                let ty = self.below_set(&expr.ty);
                if !self.unify(&types[*place], &ty) {
                    let param = &signature.params[*place];
                    let problem = Problem::ArgumentType {
                        param: param.name.clone(),
                        expected: self.show(&self.solved(&types[*place])),
                        found: self.show(&expr.ty),
                    };
                    self.diagnostics.error(expr.span, problem).label(param.span, "declared here");
                }
            }
        }
        (self.diagnostics.errors() == errors).then(|| {
            let types = types.iter().map(|ty| self.solved(ty)).collect();
            (checked, types)
        })
    }

    fn below_set(&self, ty: &Type) -> Type {
        match ty {
            Type::Set(element) => (**element).clone(),
            other => other.clone(),
        }
    }

    /// The index of each argument's parameter.
    pub(super) fn match_arguments(
        &mut self,
        name: &Name,
        declared: Span,
        params: &[Param],
        args: &[Argument],
        span: Span,
    ) -> Option<Vec<usize>> {
        let errors = self.diagnostics.errors();
        let mut places = Vec::with_capacity(args.len());
        let any_named = args.iter().any(|arg| arg.name.is_some());
        for (index, arg) in args.iter().enumerate() {
            let place = match &arg.name {
                None if any_named => {
                    self.error(arg.span, Problem::MixedArguments {});
                    return None;
                }
                None => Some(index).filter(|&index| index < params.len()),
                Some(wanted) => {
                    let place = params.iter().position(|param| param.name == wanted.name);
                    if place.is_none() {
                        let problem = Problem::NoParameter { name: name.clone(), param: wanted.name.clone() };
                        self.diagnostics.error(wanted.span, problem).label(declared, "declared here");
                        return None;
                    }
                    place
                }
            };
            match place {
                Some(place) if places.contains(&place) => {
                    let problem = Problem::DuplicateArgument { param: params[place].name.clone() };
                    self.error(arg.span, problem);
                }
                Some(place) => places.push(place),
                None => {
                    let problem =
                        Problem::ArgumentCount { name: name.clone(), wanted: params.len(), found: args.len() };
                    self.diagnostics.error(span, problem).label(declared, "declared here");
                    return None;
                }
            }
        }
        for (place, param) in params.iter().enumerate() {
            if self.diagnostics.errors() == errors && !places.contains(&place) && param.required() {
                let problem = Problem::MissingArgument { name: name.clone(), param: param.name.clone() };
                self.diagnostics.error(span, problem).label(param.span, "declared here");
            }
        }
        (self.diagnostics.errors() == errors).then_some(places)
    }

    /// Checks an argument by the rules for the direction of its parameter.
    fn argument(&mut self, arg: &Argument, param: &Param, ty: &Type) -> Arg {
        let Some(value) = &arg.value else {
            if param.direction != Direction::Out {
                self.error(arg.span, Problem::IgnoredArgument { param: param.name.clone() });
            }
            return Arg::Ignore;
        };
        let hint = self.solved(ty);
        let value = self.expr_hinted(value, Some(&hint).filter(|hint| !Self::is_open(hint)));
        let value = self.value_only(value);
        if value.ty == Type::Void {
            return Arg::Expr(self.refuse(value.span, Problem::NoValue {}));
        }
        if param.direction.writes() && !self.is_lvalue(&value) {
            let problem = Problem::ArgumentNotWritable { direction: param.direction.text(), param: param.name.clone() };
            return Arg::Expr(self.refuse(value.span, problem));
        }
        if param.direction == Direction::None && !self.is_known(&value) {
            let problem = Problem::ArgumentNotKnown { param: param.name.clone() };
            self.diagnostics.error(value.span, problem).label(param.span, "it has no direction");
            return Arg::Expr(Self::poison(value.span));
        }
        Arg::Expr(value)
    }

    /// Converts arguments to the types of their parameters. Arguments for results must already have these types.
    fn coerce_args(&mut self, args: Args, types: &[Type]) -> Args {
        args.into_iter()
            .map(|(place, arg)| match arg {
                Arg::Expr(expr) => (place, Arg::Expr(self.coerce(expr, &types[place]))),
                Arg::Ignore => (place, Arg::Ignore),
            })
            .collect()
    }

    /// A direct call of an action, which must give all parameters (spec section 14.1.1).
    fn action_call(&mut self, id: ActionId, call: &ast::Call, span: Span) -> Expr {
        if !matches!(self.place, Place::Apply | Place::Action) {
            return self.refuse(span, Problem::ActionCallOutside {});
        }
        let action = &self.program.actions[id.index()];
        let (name, declared) = (action.name.clone(), action.span);
        let mut params = action.params.clone();
        for param in &mut params {
            if param.direction == Direction::None {
                param.direction = Direction::In;
            }
        }
        if !call.type_args.is_empty() {
            let problem = Problem::TypeArguments { ty: name.to_string(), wanted: 0, found: call.type_args.len() };
            return self.refuse(span, problem);
        }
        let signature = Signature { name, span: declared, type_params: Vec::new(), params, returns: Type::Void };
        self.finish_call(Callee::Action(id), &signature, call, span, None)
    }

    fn method_call(
        &mut self,
        of: &ast::Expr,
        member: &Ident,
        call: &ast::Call,
        span: Span,
        hint: Option<&Type>,
    ) -> Expr {
        let object = self.expr(of);
        if object.ty.is_poison() || self.is_probe(member, |checker| checker.members_of(&object.ty)) {
            return self.check_args_only(call, span);
        }
        match (&object.ty, &*member.name) {
            (Type::Table(table), "apply") => {
                let table = *table;
                self.table_apply(table, call, span)
            }
            (Type::Block(..) | Type::Signature(..), "apply") => self.block_apply(object, call, span),
            (Type::Extern(id, args), _) => {
                let of = (*id, args.clone());
                self.extern_method((object, of), member, call, span, hint)
            }
            (_, "minSizeInBits" | "minSizeInBytes" | "maxSizeInBits" | "maxSizeInBytes") => {
                self.size_call(&object.ty, member, call, span)
            }
            (ty, name) => match self.builtin(ty, name) {
                Some(builtin) => self.builtin_call(builtin, object, member, call, span),
                None => {
                    let problem = Problem::NoMethod { ty: self.show(&object.ty), method: member.name.clone() };
                    self.error(member.span, problem);
                    self.check_args_only(call, span)
                }
            },
        }
    }

    fn builtin(&self, ty: &Type, name: &str) -> Option<Builtin> {
        match (ty, name) {
            (Type::Fields(..), "isValid") if !self.is_struct(ty) => Some(Builtin::IsValid),
            (Type::Fields(..), "setValid") if self.is_header(ty) => Some(Builtin::SetValid),
            (Type::Fields(..), "setInvalid") if self.is_header(ty) => Some(Builtin::SetInvalid),
            (Type::Stack(..), "push_front") => Some(Builtin::PushFront),
            (Type::Stack(..), "pop_front") => Some(Builtin::PopFront),
            _ => None,
        }
    }

    fn builtin_call(&mut self, builtin: Builtin, of: Expr, member: &Ident, call: &ast::Call, span: Span) -> Expr {
        let stacks = matches!(builtin, Builtin::PushFront | Builtin::PopFront);
        if call.args.len() != usize::from(stacks) {
            let (name, wanted) = (member.name.clone(), usize::from(stacks));
            return self.refuse(span, Problem::ArgumentCount { name, wanted, found: call.args.len() });
        }
        if builtin != Builtin::IsValid && !self.is_lvalue(&of) {
            return self.refuse(of.span, Problem::NotWritable {});
        }
        if stacks && self.in_parser() {
            return self.refuse(member.span, Problem::NotInParser { member: member.name.clone() });
        }
        let mut args = Vec::new();
        if let Some(Argument { value: Some(count), .. }) = call.args.first() {
            let count = self.expr(count);
            if self.int_value(&count).is_none_or(|count| count < 0.into()) {
                if count.ty.is_poison() {
                    return count;
                }
                return self.refuse(count.span, Problem::StackCount {});
            }
            args.push((0, Arg::Expr(count)));
        }
        let ty = if builtin == Builtin::IsValid { Type::Bool } else { Type::Void };
        let call = Call { callee: Callee::Builtin(builtin, of), type_args: Vec::new(), args };
        Expr { kind: ExprKind::Call(Box::new(call)), ty, span }
    }

    /// A call of a method of an object. `id` is its extern, `args` are the type arguments.
    fn extern_method(
        &mut self,
        (object, (id, args)): (Expr, (crate::typed::ExternId, Rc<[Type]>)),
        member: &Ident,
        call: &ast::Call,
        span: Span,
        hint: Option<&Type>,
    ) -> Expr {
        let decl = &self.program.externs[id.index()];
        let of_name = |method: &&FunctionId| self.program.functions[method.index()].name == member.name;
        let methods: Vec<FunctionId> = decl.methods.iter().filter(of_name).copied().collect();
        if methods.is_empty() {
            let names: Vec<Name> =
                decl.methods.iter().map(|method| self.program.functions[method.index()].name.clone()).collect();
            let near = super::scope::nearest(&member.name, names.iter().map(|name| &**name));
            let problem = Problem::NoMethod { ty: self.show(&object.ty), method: member.name.clone() };
            let entry = self.diagnostics.error(member.span, problem);
            if let Some(near) = near {
                entry.help(format!("did you mean `{near}`?"));
            }
            return self.check_args_only(call, span);
        }
        let object_params = decl.type_params.clone();
        let Some(method) = self.overload(&methods, &call.args, member.span) else {
            return self.check_args_only(call, span);
        };
        self.note(member, Some(self.program.functions[method.index()].span), Role::Method);
        let function = &self.program.functions[method.index()];
        let mut params = function.params.clone();
        for param in &mut params {
            param.ty = Self::with_args(&param.ty, &object_params, &args);
        }
        let signature = Signature {
            name: function.name.clone(),
            span: function.span,
            type_params: function.type_params.clone(),
            params,
            returns: Self::with_args(&function.returns, &object_params, &args),
        };
        self.finish_call(Callee::Method(object, method), &signature, call, span, hint)
    }

    fn table_apply(&mut self, table: crate::typed::TableId, call: &ast::Call, span: Span) -> Expr {
        if !matches!(self.place, Place::Apply | Place::Table) {
            return self.refuse(span, Problem::ApplyOutside { what: "a table" });
        }
        if !call.args.is_empty() {
            let name = self.program.tables[table.index()].name.clone();
            return self.refuse(span, Problem::ArgumentCount { name, wanted: 0, found: call.args.len() });
        }
        let call = Call { callee: Callee::Table(table), type_args: Vec::new(), args: Vec::new() };
        Expr { kind: ExprKind::Call(Box::new(call)), ty: Type::TableResult(table), span }
    }

    /// The parameters of a parser or control.
    pub(super) fn signature(&self, ty: &Type) -> Option<BlockSignature> {
        match ty {
            Type::Block(id, args) => {
                let block = &self.program.blocks[id.index()];
                let mut params = block.params.clone();
                for param in &mut params {
                    param.ty = Self::with_args(&param.ty, &block.type_params, args);
                }
                Some(BlockSignature { kind: block.kind, params })
            }
            Type::Signature(id, args) => {
                let decl = &self.program.block_types[id.index()];
                let mut params = decl.params.clone();
                for param in &mut params {
                    param.ty = Self::with_args(&param.ty, &decl.type_params, args);
                }
                Some(BlockSignature { kind: decl.kind, params })
            }
            _ => None,
        }
    }

    fn block_apply(&mut self, object: Expr, call: &ast::Call, span: Span) -> Expr {
        let BlockSignature { kind, params } = self.signature(&object.ty).expect("the caller has checked the type");
        let (wanted, what) = match kind {
            BlockKind::Parser => (Place::State, "a parser"),
            BlockKind::Control => (Place::Apply, "a control"),
        };
        if self.place != wanted {
            return self.refuse(span, Problem::ApplyOutside { what });
        }
        let name: Name = self.show(&object.ty).into();
        let signature = Signature { name, span: object.span, type_params: Vec::new(), params, returns: Type::Void };
        self.finish_call(Callee::Block(object), &signature, call, span, None)
    }

    /// `Type.apply(...)`, a nameless instance, or `Type.minSizeInBits()`.
    fn type_method_call(&mut self, ty: &ast::Type, member: &Ident, call: &ast::Call, span: Span) -> Expr {
        let resolved = self.open_type(ty);
        match (&resolved, &*member.name) {
            (Type::Poison, _) => self.check_args_only(call, span),
            (Type::Block(..), "apply") => {
                let Some(instance) = self.direct_instance(&resolved, ty.span) else {
                    return self.check_args_only(call, span);
                };
                let object = Expr { kind: ExprKind::Instance(instance), ty: resolved, span: ty.span };
                self.block_apply(object, call, span)
            }
            (_, "minSizeInBits" | "minSizeInBytes" | "maxSizeInBits" | "maxSizeInBytes") => {
                self.size_call(&resolved, member, call, span)
            }
            _ => {
                let problem = Problem::NoMethod { ty: self.show(&resolved), method: member.name.clone() };
                self.error(member.span, problem);
                self.check_args_only(call, span)
            }
        }
    }
}
