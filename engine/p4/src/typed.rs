// SPDX-License-Identifier: MIT OR Apache-2.0
//! The checked program: names resolved, every expression with its type, implicit casts made explicit.
//!
//! It is still generic, and structured as its author wrote it; `lower` flattens it.

use std::rc::Rc;

use num_bigint::BigInt;
use rustc_hash::FxHashMap;

use crate::ast::{Annotations, BinaryOp, BlockKind, Direction, FieldsKind, Ident, UnaryOp};
use crate::source::Span;
use crate::token::Name;
use crate::types::{FieldsId, Type, TypeParamId};

pub(crate) use crate::types::{
    ActionId, BlockId, BlockTypeId, ConstId, EnumId, ExternId, FunctionId, InstanceId, NewtypeId, PackageId, StateId,
    TableId, ValueSetId, VarId,
};

/// All declarations of a program, by kind.
#[derive(Default, Debug)]
pub(crate) struct Program {
    pub(crate) fields: Vec<Fields>,
    pub(crate) enums: Vec<Enum>,
    pub(crate) newtypes: Vec<Newtype>,
    pub(crate) externs: Vec<Extern>,
    pub(crate) functions: Vec<Function>,
    pub(crate) block_types: Vec<BlockType>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) packages: Vec<Package>,
    pub(crate) actions: Vec<Action>,
    pub(crate) tables: Vec<Table>,
    pub(crate) instances: Vec<Instance>,
    pub(crate) consts: Vec<Const>,
    pub(crate) vars: Vec<Var>,
    pub(crate) value_sets: Vec<ValueSet>,
    /// Names of `error` constants, in order.
    pub(crate) errors: Vec<Name>,
    pub(crate) match_kinds: Vec<Name>,
    pub(crate) type_params: Vec<Name>,
    /// Instances declared at top level, in order.
    pub(crate) globals: Vec<InstanceId>,
    /// The instance named `main`.
    pub(crate) main: Option<InstanceId>,
}

/// A struct, header or header union.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    pub(crate) kind: FieldsKind,
    pub(crate) name: Name,
    pub(crate) span: Span,
    pub(crate) annotations: Annotations,
    pub(crate) type_params: Vec<TypeParamId>,
    pub(crate) fields: Vec<Field>,
    /// Index of each field, by its name.
    pub(crate) places: FxHashMap<Name, usize>,
}

impl Fields {
    /// Index of a field.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: Name,
    pub(crate) ty: Type,
    pub(crate) span: Span,
    pub(crate) annotations: Annotations,
}

#[derive(Clone, Debug)]
pub(crate) struct Enum {
    pub(crate) name: Name,
    pub(crate) annotations: Annotations,
    /// `bit<W>` or `int<W>` of a serializable enum.
    pub(crate) underlying: Option<Type>,
    pub(crate) members: Vec<EnumMember>,
}

#[derive(Clone, Debug)]
pub(crate) struct EnumMember {
    pub(crate) name: Name,
    pub(crate) span: Span,
    /// Its value: as declared in a serializable enum, otherwise its index.
    pub(crate) value: BigInt,
}

/// `type T Name;`
#[derive(Clone, Debug)]
pub(crate) struct Newtype {
    pub(crate) name: Name,
    pub(crate) annotations: Annotations,
    pub(crate) ty: Type,
}

#[derive(Clone, Debug)]
pub(crate) struct Extern {
    pub(crate) name: Name,
    pub(crate) type_params: Vec<TypeParamId>,
    pub(crate) constructors: Vec<FunctionId>,
    pub(crate) methods: Vec<FunctionId>,
}

/// A parameter of any kind.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) var: VarId,
    pub(crate) name: Name,
    pub(crate) ty: Type,
    pub(crate) direction: Direction,
    pub(crate) default: Option<Expr>,
    /// `@optional`
    pub(crate) optional: bool,
    /// Direction, type and name.
    pub(crate) span: Span,
    pub(crate) annotations: Annotations,
}

impl Param {
    /// Whether a call must give an argument for it.
    pub(crate) fn required(&self) -> bool {
        self.default.is_none() && !self.optional
    }
}

/// A function, extern function, method or constructor.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: Name,
    pub(crate) span: Span,
    pub(crate) annotations: Annotations,
    pub(crate) type_params: Vec<TypeParamId>,
    pub(crate) params: Vec<Param>,
    pub(crate) returns: Type,
    pub(crate) kind: FunctionKind,
}

#[derive(Clone, Debug)]
pub(crate) enum FunctionKind {
    /// Written in P4.
    User(Rc<[Stmt]>),
    /// `extern` at top level.
    Extern,
    /// Member of an extern object.
    Method { is_abstract: bool },
    /// Constructor of an extern object.
    Constructor,
}

/// The type of a parser or control.
#[derive(Clone, Debug)]
pub(crate) struct BlockType {
    pub(crate) kind: BlockKind,
    pub(crate) name: Name,
    pub(crate) type_params: Vec<TypeParamId>,
    pub(crate) params: Vec<Param>,
}

/// A parser or control with a body.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) kind: BlockKind,
    pub(crate) name: Name,
    pub(crate) span: Span,
    pub(crate) type_params: Vec<TypeParamId>,
    pub(crate) params: Vec<Param>,
    pub(crate) constructor: Vec<Param>,
    /// Local declarations in order. Local constants are folded and not among them.
    pub(crate) locals: Vec<Local>,
    pub(crate) body: BlockBody,
}

#[derive(Clone, Debug)]
pub(crate) enum Local {
    Var(VarId, Option<Expr>),
    Instance(InstanceId),
    Action(ActionId),
    Table(TableId),
    ValueSet(ValueSetId),
}

#[derive(Clone, Debug)]
pub(crate) enum BlockBody {
    Parser(Rc<[State]>),
    Control(Rc<[Stmt]>),
    /// Not yet checked, or broken.
    Missing,
}

#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) name: Name,
    pub(crate) span: Span,
    pub(crate) annotations: Annotations,
    pub(crate) body: Vec<Stmt>,
    pub(crate) next: Transition,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    State(StateId),
    Accept,
    Reject,
}

#[derive(Clone, Debug)]
pub(crate) enum Transition {
    Goto(Target),
    Select { keys: Vec<Expr>, cases: Vec<(KeySet, Target)>, span: Span },
}

/// The values that a case of a `select` or an entry of a table matches.
#[derive(Clone, Debug)]
pub(crate) enum KeySet {
    /// Anything.
    Any,
    /// One set per key.
    Each(Vec<Expr>),
    /// Members of a value set; its components correspond to the keys.
    ValueSet(ValueSetId),
}

#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: Name,
    pub(crate) type_params: Vec<TypeParamId>,
    pub(crate) params: Vec<Param>,
}

#[derive(Clone, Debug)]
pub(crate) struct Action {
    pub(crate) name: Name,
    pub(crate) span: Span,
    pub(crate) annotations: Annotations,
    pub(crate) params: Vec<Param>,
    pub(crate) body: Rc<[Stmt]>,
    /// The control that declares it; `None` at top level.
    pub(crate) owner: Option<BlockId>,
}

#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) name: Name,
    pub(crate) span: Span,
    pub(crate) annotations: Annotations,
    pub(crate) keys: Vec<Key>,
    pub(crate) actions: Vec<ActionListEntry>,
    /// `None` only after an error.
    pub(crate) default_action: Option<DefaultAction>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) const_entries: bool,
    /// `largest_priority_wins`
    pub(crate) largest_priority_wins: bool,
    /// `priority_delta`
    pub(crate) priority_delta: BigInt,
    /// Further properties, including `size`.
    pub(crate) properties: Vec<Property>,
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) expr: Expr,
    /// Index into [`Program::match_kinds`].
    pub(crate) kind: usize,
    /// Control-plane name.
    pub(crate) name: String,
    pub(crate) annotations: Annotations,
    pub(crate) span: Span,
}

/// An action in a table's list, with its directional parameters bound.
#[derive(Clone, Debug)]
pub(crate) struct ActionListEntry {
    pub(crate) action: ActionId,
    pub(crate) args: Args,
    pub(crate) annotations: Annotations,
    /// Whether it is the implied default action of a table that names none.
    pub(crate) implied: bool,
    pub(crate) span: Span,
}

/// An action of the list with values for all other parameters.
#[derive(Clone, Debug)]
pub(crate) struct ActionUse {
    /// Index into [`Table::actions`].
    pub(crate) index: usize,
    /// All arguments.
    pub(crate) args: Args,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct DefaultAction {
    pub(crate) use_: ActionUse,
    pub(crate) is_const: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) keys: Vec<Expr>,
    pub(crate) action: ActionUse,
    pub(crate) priority: Option<BigInt>,
    /// Whether it is declared constant itself. With [`Table::const_entries`], all entries are constant.
    pub(crate) is_const: bool,
    pub(crate) annotations: Annotations,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Property {
    pub(crate) name: Name,
    pub(crate) annotations: Annotations,
    pub(crate) value: Expr,
    pub(crate) span: Span,
}

/// `Type(args) name;`
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) name: Name,
    pub(crate) span: Span,
    pub(crate) annotations: Annotations,
    pub(crate) ty: Type,
    pub(crate) construct: Construct,
    /// Implementations of abstract methods.
    pub(crate) methods: Vec<FunctionId>,
}

/// A constructor with its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Construct {
    pub(crate) what: Constructor,
    pub(crate) args: Args,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Constructor {
    Extern(FunctionId),
    Block(BlockId),
    Package(PackageId),
}

#[derive(Clone, Debug)]
pub(crate) struct Const {
    pub(crate) name: Name,
    pub(crate) span: Span,
    pub(crate) value: Expr,
}

/// A variable or parameter.
#[derive(Clone, Debug)]
pub(crate) struct Var {
    pub(crate) name: Name,
    pub(crate) ty: Type,
    pub(crate) span: Span,
    pub(crate) kind: VarKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VarKind {
    Variable,
    Param(Direction),
    /// Parameter of an action without direction: set by the control plane.
    ActionData,
    /// Parameter of a constructor: known at compile time.
    Constructor,
}

#[derive(Clone, Debug)]
pub(crate) struct ValueSet {
    pub(crate) name: Name,
    pub(crate) span: Span,
    pub(crate) annotations: Annotations,
    pub(crate) ty: Type,
    pub(crate) size: Expr,
}

/// An expression of known type.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) ty: Type,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    /// Broken; the error has been reported.
    Poison,
    /// A number within the range of the type, which is `int`, `bit<W>` or `int<W>`.
    Int(BigInt),
    Bool(bool),
    String(Name),
    /// Member of an enum.
    Enum(EnumId, u32),
    /// Member of `error`.
    Error(u32),
    MatchKind(u32),
    Var(VarId),
    Const(ConstId),
    Instance(InstanceId),
    ValueSet(ValueSetId),
    This,
    /// Field of a struct, header or union; element of a tuple; part of a table's result (`hit`, `miss`, `action_run`).
    Field(Box<Expr>, u32),
    /// Element of a stack.
    Element(Box<Expr>, Box<Expr>),
    Next(Box<Expr>),
    Last(Box<Expr>),
    LastIndex(Box<Expr>),
    /// Bits `hi..=lo`.
    Slice(Box<Expr>, u32, u32),
    /// As many bits as the type has, starting at a run-time position.
    PlusSlice(Box<Expr>, Box<Expr>),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Mux(Box<Expr>, Box<Expr>, Box<Expr>),
    Cast(Box<Expr>),
    /// All parts of a struct, valid header, tuple, stack or list.
    Aggregate(Vec<Expr>),
    /// `{ name = value }` of a type not yet known, and whether it ends with `...`.
    Record(Vec<(Ident, Expr)>, bool),
    /// `{#}`
    InvalidHeader,
    /// The default value of a part that `...` omits.
    Default,
    Call(Box<Call>),
    Construct(Box<Construct>),
    /// `_` or `default` as a set.
    Any,
    /// `value &&& mask`
    Mask(Box<Expr>, Box<Expr>),
    /// `lo .. hi`
    Range(Box<Expr>, Box<Expr>),
}

impl Expr {
    /// Whether a direct part of this expression satisfies `test`. Parts are tested in source order; callees and
    /// arguments are not tested.
    pub(crate) fn any_part<'a>(&'a self, mut test: impl FnMut(&'a Expr) -> bool) -> bool {
        match &self.kind {
            ExprKind::Field(a, _)
            | ExprKind::Next(a)
            | ExprKind::Last(a)
            | ExprKind::LastIndex(a)
            | ExprKind::Slice(a, ..)
            | ExprKind::Unary(_, a)
            | ExprKind::Cast(a) => test(a),
            ExprKind::Element(a, b)
            | ExprKind::PlusSlice(a, b)
            | ExprKind::Binary(_, a, b)
            | ExprKind::Mask(a, b)
            | ExprKind::Range(a, b) => test(a) || test(b),
            ExprKind::Mux(a, b, c) => test(a) || test(b) || test(c),
            ExprKind::Aggregate(parts) => parts.iter().any(test),
            ExprKind::Record(fields, _) => fields.iter().any(|(_, value)| test(value)),
            ExprKind::Poison
            | ExprKind::Int(_)
            | ExprKind::Bool(_)
            | ExprKind::String(_)
            | ExprKind::Enum(..)
            | ExprKind::Error(_)
            | ExprKind::MatchKind(_)
            | ExprKind::Var(_)
            | ExprKind::Const(_)
            | ExprKind::Instance(_)
            | ExprKind::ValueSet(_)
            | ExprKind::This
            | ExprKind::InvalidHeader
            | ExprKind::Default
            | ExprKind::Call(_)
            | ExprKind::Construct(_)
            | ExprKind::Any => false,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) callee: Callee,
    pub(crate) type_args: Vec<Type>,
    pub(crate) args: Args,
}

#[derive(Clone, Debug)]
pub(crate) enum Callee {
    Function(FunctionId),
    /// Method of an extern object.
    Method(Expr, FunctionId),
    Action(ActionId),
    /// `table.apply()`
    Table(TableId),
    /// `instance.apply(...)` of a parser or control.
    Block(Expr),
    Builtin(Builtin, Expr),
}

/// Methods of headers, unions and stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Builtin {
    IsValid,
    SetValid,
    SetInvalid,
    PushFront,
    PopFront,
}

/// Arguments in evaluation order, each with the index of its parameter.
pub(crate) type Args = Vec<(usize, Arg)>;

#[derive(Clone, Debug)]
pub(crate) enum Arg {
    /// A value, or the place for an `out` or `inout` parameter.
    Expr(Expr),
    /// `_` for an `out` parameter: the result is discarded.
    Ignore,
}

#[derive(Clone, Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum StmtKind {
    Var(VarId, Option<Expr>),
    Assign(Expr, Expr),
    /// `dst op= src`
    Compound(Expr, BinaryOp, Expr),
    Call(Expr),
    Block(Vec<Stmt>),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    Return(Option<Expr>),
    Exit,
    Break,
    Continue,
    /// `switch` on the action that a table ran. Cases without a body fall through to the next.
    SwitchAction {
        apply: Expr,
        cases: Vec<SwitchCase<usize>>,
    },
    /// `switch` on a value.
    SwitchValue {
        value: Expr,
        cases: Vec<SwitchCase<Expr>>,
    },
    For {
        init: Vec<Stmt>,
        cond: Expr,
        update: Vec<Stmt>,
        body: Vec<Stmt>,
    },
    ForIn {
        var: VarId,
        collection: Expr,
        body: Vec<Stmt>,
    },
}

/// A case of a `switch`; no labels means `default`.
#[derive(Clone, Debug)]
pub(crate) struct SwitchCase<L> {
    /// Labels that share the body, and whether `default` is among them.
    pub(crate) labels: Vec<L>,
    pub(crate) default: bool,
    pub(crate) body: Vec<Stmt>,
}

impl Program {
    /// The declaration of a struct, header or union.
    pub(crate) fn fields(&self, id: FieldsId) -> &Fields {
        &self.fields[id.index()]
    }

    /// Type of a field, with type parameters replaced.
    pub(crate) fn field_type(&self, id: FieldsId, args: &[Type], index: usize) -> Type {
        let decl = self.fields(id);
        decl.fields[index].ty.substitute(&|param| {
            decl.type_params.iter().position(|known| *known == param).and_then(|place| args.get(place).cloned())
        })
    }
}

impl Type {
    /// As a user would write it.
    pub(crate) fn show(&self, program: &Program) -> String {
        let list = |args: &[Type]| args.iter().map(|arg| arg.show(program)).collect::<Vec<_>>().join(", ");
        let named = |name: &Name, args: &[Type]| match args.len() {
            0 => name.to_string(),
            _ => format!("{name}<{}>", list(args)),
        };
        match self {
            Type::Poison => "?".into(),
            Type::Void => "void".into(),
            Type::Bool => "bool".into(),
            Type::Int => "int".into(),
            Type::Bits { width, signed: false } => format!("bit<{width}>"),
            Type::Bits { width, signed: true } => format!("int<{width}>"),
            Type::Varbit(width) => format!("varbit<{width}>"),
            Type::String => "string".into(),
            Type::Error => "error".into(),
            Type::MatchKind => "match_kind".into(),
            Type::Fields(id, args) => named(&program.fields(*id).name, args),
            Type::Enum(id) => program.enums[id.index()].name.to_string(),
            Type::New(id) => program.newtypes[id.index()].name.to_string(),
            Type::Stack(element, size) => format!("{}[{size}]", element.show(program)),
            Type::Tuple(parts) => format!("tuple<{}>", list(parts)),
            Type::List(element) => format!("list<{}>", element.show(program)),
            Type::Set(element) => format!("set<{}>", element.show(program)),
            Type::Extern(id, args) => named(&program.externs[id.index()].name, args),
            Type::Signature(id, args) => named(&program.block_types[id.index()].name, args),
            Type::Block(id, args) => named(&program.blocks[id.index()].name, args),
            Type::Package(id, args) => named(&program.packages[id.index()].name, args),
            Type::Param(id) => program.type_params[id.0 as usize].to_string(),
            Type::Infer(_) | Type::DontCare => "_".into(),
            Type::Sequence(parts, dots) => format!("{{{}{}}}", list(parts), if *dots { ", ..." } else { "" }),
            Type::Record(fields, dots) => {
                let fields: Vec<_> = fields.iter().map(|(name, ty)| format!("{name} = {}", ty.show(program))).collect();
                format!("{{{}{}}}", fields.join(", "), if *dots { ", ..." } else { "" })
            }
            Type::Invalid => "{#}".into(),
            Type::Dots => "...".into(),
            Type::Table(id) => format!("table {}", program.tables[id.index()].name),
            Type::TableResult(_) => "apply_result".into(),
            Type::ActionRun(_) => "action_run".into(),
            Type::Action(id) => format!("action {}", program.actions[id.index()].name),
        }
    }
}
