// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instances: the results of constructors (spec section 18.3).

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::ast::Annotations;
use crate::ir;
use crate::source::Span;
use crate::token::Name;
use crate::typed::{
    ActionId, Arg, Args, BlockId, Construct, Constructor, FunctionId, InstanceId, Local, Param, TableId, ValueSetId,
    VarId,
};
use crate::types::{Type, TypeParamId};

use super::names;
use super::value::{ExternObject, Object, ObjectId, PackageObject, Value};
use super::{Binding, Lowered, Lowerer};

/// An instance of a parser or control.
#[derive(Clone, Debug)]
pub(crate) struct BlockObject {
    pub(crate) decl: BlockId,
    /// Its control-plane name, the prefix of its members' names.
    pub(crate) path: String,
    constructor: Vec<(VarId, Binding)>,
    type_args: Vec<(TypeParamId, Type)>,
    /// Instances declared in it.
    instances: Vec<(InstanceId, Object)>,
    /// Its parameters and variables, after it was first applied.
    pub(super) bindings: Option<Vec<(VarId, Binding)>>,
    pub(super) actions: FxHashMap<ActionId, ir::ActionId>,
    pub(super) tables: FxHashMap<TableId, ir::TableId>,
    pub(super) value_sets: Vec<(ValueSetId, ir::ValueSetId)>,
    /// Flag that an action of one of its tables sets at an `exit`.
    pub(crate) exit_flag: Option<ir::SlotId>,
    /// Number of times that its body applies each other instance, once counted.
    pub(super) applied: Option<FxHashMap<ObjectId, u32>>,
    /// Number of times its body was inlined; distinguishes copies of its states.
    pub(super) copies: u32,
}

/// Data of a new extern instance for the architecture.
#[derive(Debug)]
pub(crate) struct NewExtern<'a> {
    pub(crate) object: Name,
    /// Control-plane name.
    pub(crate) name: &'a str,
    pub(crate) type_args: Rc<[Type]>,
    pub(crate) args: Vec<Option<Value>>,
    pub(crate) annotations: &'a Annotations,
    /// Implementations of its abstract methods.
    pub(crate) methods: &'a [FunctionId],
    pub(crate) span: Span,
}

/// Maximum number of parser and control instances: a few lines that instantiate each other could require any number.
const MAX_OBJECTS: usize = 1 << 16;

impl Lowerer<'_> {
    /// Creates all instances of a list, in order, in the control or parser with the name `path`.
    fn declare_instances(&mut self, ids: &[InstanceId], path: &str) -> Lowered<Vec<(InstanceId, Object)>> {
        let mut made = Vec::with_capacity(ids.len());
        for id in ids {
            let program = self.program;
            let decl = &program.instances[id.index()];
            let name = names::control_plane(path, &decl.name, &decl.annotations);
            let object =
                self.construct(&decl.construct, &decl.ty, &name, &decl.annotations, &decl.methods, decl.span)?;
            self.instances[id.index()] = Some(object.clone());
            made.push((*id, object));
        }
        Ok(made)
    }

    /// Creates the instances declared at top level.
    pub(crate) fn make_globals(&mut self) -> Lowered<()> {
        let ids = self.program.globals.clone();
        self.declare_instances(&ids, "").map(|_| ())
    }

    /// Executes a constructor.
    pub(crate) fn construct(
        &mut self,
        construct: &Construct,
        ty: &Type,
        name: &str,
        annotations: &[crate::ast::Annotation],
        methods: &[FunctionId],
        span: Span,
    ) -> Lowered<Object> {
        let program = self.program;
        match construct.what {
            Constructor::Extern(constructor) => {
                let args = self.constructor_args(&program.functions[constructor.index()].params, &construct.args)?;
                let Type::Extern(id, type_args) = self.concrete(ty) else {
                    return self.internal(span, "an extern was expected");
                };
                let annotations = annotations.to_vec();
                let object = program.externs[id.index()].name.clone();
                let (type_args_copy, annotations) = (type_args.clone(), &annotations);
                let new = NewExtern { object, name, type_args, args, annotations, methods, span };
                let handle = self.architecture.instantiate(self, &new)?;
                Ok(Object::Extern(Rc::new(ExternObject { id, type_args: type_args_copy, handle })))
            }
            Constructor::Package(package) => {
                let decl = &program.packages[package.index()];
                let args = self.constructor_args(&decl.params, &construct.args)?;
                Ok(Object::Package(Rc::new(PackageObject { name: decl.name.clone(), args })))
            }
            Constructor::Block(block) => self.construct_block(block, &construct.args, ty, name, span),
        }
    }

    fn construct_block(&mut self, block: BlockId, args: &Args, ty: &Type, name: &str, span: Span) -> Lowered<Object> {
        let program = self.program;
        if self.objects.len() >= MAX_OBJECTS {
            return self.unsupported(span, format!("more than {MAX_OBJECTS} instances"));
        }
        let decl = &program.blocks[block.index()];
        let args = self.constructor_args(&decl.constructor, args)?;
        let params = decl.constructor.iter().zip(args);
        let constructor: Vec<(VarId, Binding)> =
            params.filter_map(|(param, value)| Some((param.var, Binding::Value(value?)))).collect();
        // An instance that is an argument of a constructor has no name of its own. As in p4c it takes the name of its
        // type, even if that has a `@name`.
        let path = if name.is_empty() { decl.name.to_string() } else { name.to_string() };
        let type_args: Vec<(TypeParamId, Type)> = match self.concrete(ty) {
            Type::Block(_, args) => decl.type_params.iter().copied().zip(args.iter().cloned()).collect(),
            _ => Vec::new(),
        };
        let outer_types = self.bind_types(&type_args);
        let old = self.bind(constructor.clone());
        let locals: Vec<InstanceId> = decl
            .locals
            .iter()
            .filter_map(|local| if let Local::Instance(id) = local { Some(*id) } else { None })
            .collect();
        let instances = self.declare_instances(&locals, &path);
        self.unbind(old);
        self.unbind_types(outer_types);
        let id = ObjectId(self.objects.len() as u32);
        self.objects.push(BlockObject {
            decl: block,
            path,
            constructor,
            type_args,
            instances: instances?,
            bindings: None,
            actions: FxHashMap::default(),
            tables: FxHashMap::default(),
            value_sets: Vec::new(),
            exit_flag: None,
            applied: None,
            copies: 0,
        });
        Ok(Object::Block(id))
    }

    /// Values for all parameters of a constructor; `None` for an optional one that is not given.
    fn constructor_args(&mut self, params: &[Param], args: &Args) -> Lowered<Vec<Option<Value>>> {
        let mut values = vec![None; params.len()];
        for (place, arg) in args {
            if let Arg::Expr(expr) = arg {
                values[*place] = Some(self.expr(expr)?);
            }
        }
        for (value, param) in values.iter_mut().zip(params) {
            if let (None, Some(default)) = (&value, &param.default) {
                *value = Some(self.expr(default)?);
            }
        }
        Ok(values)
    }

    /// A type in a declaration, with the type arguments of its instance.
    pub(super) fn type_in(&self, id: ObjectId, ty: &Type) -> Type {
        let args = &self.objects[id.0 as usize].type_args;
        ty.substitute(&|param| args.iter().find(|(known, _)| *known == param).map(|(_, arg)| arg.clone()))
    }

    /// Makes an object the current one: its constructor parameters, instances and variables become visible.
    pub(super) fn enter(&mut self, id: ObjectId) -> Entered {
        let object = &self.objects[id.0 as usize];
        let mut bindings = object.constructor.clone();
        bindings.extend(object.bindings.iter().flatten().cloned());
        let (instances, type_args) = (object.instances.clone(), object.type_args.clone());
        let types = self.bind_types(&type_args);
        let bindings = self.bind(bindings);
        let instances = instances
            .into_iter()
            .map(|(instance, object)| (instance, self.instances[instance.index()].replace(object)))
            .collect();
        Entered { object: self.object.replace(id), bindings, instances, types }
    }

    pub(super) fn leave(&mut self, entered: Entered) {
        self.object = entered.object;
        self.unbind(entered.bindings);
        self.unbind_types(entered.types);
        for (instance, object) in entered.instances.into_iter().rev() {
            self.instances[instance.index()] = object;
        }
    }
}

/// What was visible before an object was entered, to be restored.
#[derive(Debug)]
pub(super) struct Entered {
    object: Option<ObjectId>,
    bindings: Vec<(VarId, Option<Binding>)>,
    instances: Vec<(InstanceId, Option<Object>)>,
    types: Vec<(TypeParamId, Option<Type>)>,
}
