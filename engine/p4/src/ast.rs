// SPDX-License-Identifier: MIT OR Apache-2.0
//! The syntax tree: the program as written, names not yet resolved (spec appendix G).

use num_bigint::BigInt;

use crate::source::Span;
use crate::token::{Name, Token};

/// An identifier and its place.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Ident {
    pub(crate) name: Name,
    pub(crate) span: Span,
}

impl Ident {
    /// Whether it is `_`.
    pub(crate) fn is_underscore(&self) -> bool {
        &*self.name == "_"
    }
}

/// `name` or `.name`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Path {
    /// Whether the name is looked up at top level.
    pub(crate) absolute: bool,
    pub(crate) name: Ident,
}

/// `@name ...`
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Annotation {
    pub(crate) name: Ident,
    pub(crate) body: AnnotationBody,
    /// The whole annotation, from the `@`.
    pub(crate) span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum AnnotationBody {
    /// `@a`, `@a(tokens)`, `@pragma a tokens`.
    Tokens(Vec<Token>),
    /// `@a[expressions]`
    Expressions(Vec<Expr>),
    /// `@a[key = value, ...]`
    KeyValues(Vec<(Ident, Expr)>),
}

pub(crate) type Annotations = Vec<Annotation>;

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Type {
    pub(crate) kind: TypeKind,
    pub(crate) span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum TypeKind {
    Bool,
    Error,
    MatchKind,
    String,
    /// `int`
    Int,
    Void,
    /// `_`
    DontCare,
    /// `bit`, `bit<w>`
    Bit(Option<Box<Expr>>),
    /// `int<w>`
    SignedInt(Box<Expr>),
    Varbit(Box<Expr>),
    Name(Path),
    Specialized(Path, Vec<Type>),
    /// `t[n]`
    Stack(Box<Type>, Box<Expr>),
    Tuple(Vec<Type>),
    List(Box<Type>),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
    /// Number of nodes from here down to the deepest leaf; limited, since later passes recurse.
    pub(crate) height: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ExprKind {
    Int(BigInt, Option<(u32, bool)>),
    Bool(bool),
    String(Name),
    Path(Path),
    This,
    /// `{#}`
    InvalidHeader,
    /// `...`
    Dots,
    /// `default` or `_` in place of a set of values
    Any,
    Index(Box<Expr>, Box<Expr>),
    /// `e[hi:lo]`
    Slice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `e[lo +: width]`
    PlusSlice(Box<Expr>, Box<Expr>, Box<Expr>),
    List(Vec<Expr>),
    /// `{ name = value, ... }`, perhaps with `...` at the end
    Record {
        fields: Vec<(Ident, Expr)>,
        dots: Option<Span>,
    },
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Mux(Box<Expr>, Box<Expr>, Box<Expr>),
    Member(Box<Expr>, Ident),
    /// `Type.member`, `error.member`
    TypeMember(Type, Ident),
    Cast(Type, Box<Expr>),
    Call(Box<Call>),
    /// `Type(args)`
    Construct(Type, Vec<Argument>),
    /// `a &&& b`
    Mask(Box<Expr>, Box<Expr>),
    /// `a .. b`
    Range(Box<Expr>, Box<Expr>),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Call {
    pub(crate) callee: Expr,
    pub(crate) type_args: Vec<Type>,
    pub(crate) args: Vec<Argument>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Argument {
    pub(crate) name: Option<Ident>,
    /// `None` for `_`.
    pub(crate) value: Option<Expr>,
    pub(crate) span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UnaryOp {
    Not,
    Complement,
    Minus,
    Plus,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum BinaryOp {
    Mul,
    Div,
    Mod,
    Add,
    Sub,
    AddSat,
    SubSat,
    Concat,
    Shl,
    Shr,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    BitAnd,
    BitXor,
    BitOr,
    And,
    Or,
}

impl BinaryOp {
    /// Whether it compares two values of one type.
    pub(crate) const fn is_comparison(self) -> bool {
        matches!(self, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne)
    }

    /// Source text.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Mod => "%",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::AddSat => "|+|",
            BinaryOp::SubSat => "|-|",
            BinaryOp::Concat => "++",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitXor => "^",
            BinaryOp::BitOr => "|",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    None,
    In,
    Out,
    Inout,
}

impl Direction {
    /// Whether a call writes the argument.
    pub(crate) fn writes(self) -> bool {
        matches!(self, Direction::Out | Direction::Inout)
    }

    /// Source text.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Direction::None => "no direction",
            Direction::In => "in",
            Direction::Out => "out",
            Direction::Inout => "inout",
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Param {
    pub(crate) annotations: Annotations,
    pub(crate) direction: Direction,
    pub(crate) ty: Type,
    pub(crate) name: Ident,
    pub(crate) default: Option<Expr>,
    /// Direction, type and name.
    pub(crate) span: Span,
}

/// A declaration at top level or inside a parser, control or function.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Decl {
    Const(ConstDecl),
    Var(VarDecl),
    Instance(InstanceDecl),
    Function(Function),
    Action(ActionDecl),
    Table(TableDecl),
    ValueSet(ValueSetDecl),
    Extern(ExternDecl),
    ExternFunction(Prototype),
    Parser(ParserDecl),
    Control(ControlDecl),
    /// `parser P(...);`, `control C(...);`
    BlockType(BlockTypeDecl),
    Package(PackageDecl),
    Fields(FieldsDecl),
    Enum(EnumDecl),
    Error(Vec<Ident>),
    MatchKind(Vec<Ident>),
    Typedef(TypedefDecl),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ConstDecl {
    pub(crate) annotations: Annotations,
    pub(crate) ty: Type,
    pub(crate) name: Ident,
    pub(crate) value: Expr,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct VarDecl {
    pub(crate) ty: Type,
    pub(crate) name: Ident,
    pub(crate) init: Option<Expr>,
}

/// `Type(args) name;`
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct InstanceDecl {
    pub(crate) annotations: Annotations,
    pub(crate) ty: Type,
    pub(crate) args: Vec<Argument>,
    pub(crate) name: Ident,
    pub(crate) init: Option<Initializer>,
}

/// `= { ... }` after an instance: implementations of abstract methods.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Initializer {
    pub(crate) members: Vec<Decl>,
    /// The braces.
    pub(crate) span: Span,
}

/// A function's or method's signature.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Prototype {
    pub(crate) annotations: Annotations,
    pub(crate) is_abstract: bool,
    /// `None` for a constructor.
    pub(crate) returns: Option<Type>,
    pub(crate) name: Ident,
    pub(crate) type_params: Vec<Ident>,
    pub(crate) params: Vec<Param>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Function {
    pub(crate) prototype: Prototype,
    pub(crate) body: Block,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ActionDecl {
    pub(crate) annotations: Annotations,
    pub(crate) name: Ident,
    pub(crate) params: Vec<Param>,
    pub(crate) body: Block,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ValueSetDecl {
    pub(crate) annotations: Annotations,
    pub(crate) ty: Type,
    pub(crate) size: Expr,
    pub(crate) name: Ident,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ExternDecl {
    pub(crate) annotations: Annotations,
    pub(crate) name: Ident,
    pub(crate) type_params: Vec<Ident>,
    pub(crate) methods: Vec<Prototype>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum BlockKind {
    Parser,
    Control,
}

impl BlockKind {
    /// For messages.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            BlockKind::Parser => "parser",
            BlockKind::Control => "control",
        }
    }
}

/// The part that parser and control declarations share with their types.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct BlockTypeDecl {
    pub(crate) kind: BlockKind,
    pub(crate) annotations: Annotations,
    pub(crate) name: Ident,
    pub(crate) type_params: Vec<Ident>,
    pub(crate) params: Vec<Param>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ParserDecl {
    pub(crate) ty: BlockTypeDecl,
    pub(crate) constructor: Vec<Param>,
    pub(crate) locals: Vec<Decl>,
    pub(crate) states: Vec<StateDecl>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct StateDecl {
    pub(crate) annotations: Annotations,
    pub(crate) name: Ident,
    pub(crate) body: Vec<Stmt>,
    pub(crate) transition: Option<Transition>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Transition {
    Goto(Ident),
    Select { keys: Vec<Expr>, cases: Vec<SelectCase>, span: Span },
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SelectCase {
    pub(crate) keys: KeysetExpr,
    pub(crate) target: Ident,
}

/// `a`, or `(a, b)` as a tuple of sets.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct KeysetExpr {
    pub(crate) sets: Vec<Expr>,
    /// Whether it was written with parentheses around more than one set, or around one that is not an expression.
    pub(crate) tuple: bool,
    pub(crate) span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ControlDecl {
    pub(crate) ty: BlockTypeDecl,
    pub(crate) constructor: Vec<Param>,
    pub(crate) locals: Vec<Decl>,
    pub(crate) apply: Block,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PackageDecl {
    pub(crate) annotations: Annotations,
    pub(crate) name: Ident,
    pub(crate) type_params: Vec<Ident>,
    pub(crate) params: Vec<Param>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum FieldsKind {
    Struct,
    Header,
    Union,
}

/// A struct, header or header union.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FieldsDecl {
    pub(crate) kind: FieldsKind,
    pub(crate) annotations: Annotations,
    pub(crate) name: Ident,
    pub(crate) type_params: Vec<Ident>,
    pub(crate) fields: Vec<FieldDecl>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FieldDecl {
    pub(crate) annotations: Annotations,
    pub(crate) ty: Type,
    pub(crate) name: Ident,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct EnumDecl {
    pub(crate) annotations: Annotations,
    /// Underlying type of a serializable enum.
    pub(crate) underlying: Option<Type>,
    pub(crate) name: Ident,
    pub(crate) members: Vec<(Ident, Option<Expr>)>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TypedefDecl {
    pub(crate) annotations: Annotations,
    /// True for `type`, false for `typedef`.
    pub(crate) is_new: bool,
    pub(crate) source: TypedefSource,
    pub(crate) name: Ident,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum TypedefSource {
    Type(Type),
    /// A declaration in place: `typedef struct S { ... } T;`; arrays of it through `stack`.
    Declaration {
        decl: Box<Decl>,
        name: Ident,
        stack: Vec<Expr>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TableDecl {
    pub(crate) annotations: Annotations,
    pub(crate) name: Ident,
    pub(crate) properties: Vec<Property>,
    pub(crate) span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Property {
    pub(crate) annotations: Annotations,
    pub(crate) is_const: bool,
    pub(crate) name: Ident,
    pub(crate) value: PropertyValue,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum PropertyValue {
    Key(Vec<KeyElement>),
    Actions(Vec<ActionRef>),
    Entries(Vec<EntryDecl>),
    Expr(Expr),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct KeyElement {
    pub(crate) expr: Expr,
    pub(crate) kind: Ident,
    pub(crate) annotations: Annotations,
}

/// `action` or `action(args)` in a table.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ActionRef {
    pub(crate) annotations: Annotations,
    pub(crate) path: Path,
    pub(crate) args: Option<Vec<Argument>>,
    pub(crate) span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct EntryDecl {
    pub(crate) is_const: bool,
    pub(crate) priority: Option<Expr>,
    pub(crate) keys: KeysetExpr,
    pub(crate) action: ActionRef,
    pub(crate) annotations: Annotations,
    pub(crate) span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Block {
    pub(crate) stmts: Vec<Stmt>,
    pub(crate) span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum StmtKind {
    Empty,
    Decl(Decl),
    Call(Expr),
    Assign { dst: Expr, op: Option<BinaryOp>, src: Expr },
    Block(Block),
    If { cond: Expr, then: Box<Stmt>, otherwise: Option<Box<Stmt>> },
    Return(Option<Expr>),
    Exit,
    Break,
    Continue,
    Switch { value: Expr, cases: Vec<SwitchCase> },
    For { init: Vec<Stmt>, cond: Expr, update: Vec<Stmt>, body: Box<Stmt> },
    ForIn { ty: Type, name: Ident, collection: Expr, body: Box<Stmt> },
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SwitchCase {
    /// `None` for `default`.
    pub(crate) label: Option<Expr>,
    pub(crate) label_span: Span,
    /// `None` falls through to the next case.
    pub(crate) body: Option<Block>,
}
