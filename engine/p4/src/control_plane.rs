// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects of a program that a control plane can name: tables, actions, extern objects, value sets, types.
//!
//! The IR is made for execution: inlined, flattened, without unreachable code. A control plane needs the objects as
//! their author declared them, with annotations and types. This view has the contents of P4Runtime's P4Info, but not
//! its format (identifiers, messages).
//!
//! The choice and order of objects follow p4c, which generates P4Info after its front end: controls are inlined where
//! they are instantiated, tables that are never applied and actions that are never run are removed, top-level actions
//! come first in each control that runs them, and extern objects always stay.
//!
//! - [`walk`]: instances and what they hold; [`used`]: what their code uses; [`table`]: tables;
//! - [`value`]: constants; [`types`]: types; [`annotation`]: annotations.

mod annotation;
mod scope;
mod table;
mod types;
mod used;
mod value;
mod walk;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::typed::{InstanceId, Program};

/// A program as a control plane sees it. Objects are in p4c's order.
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
pub struct ControlPlane {
    /// Annotations of the package's instance.
    pub annotations: Vec<Annotation>,
    /// Tables that are applied.
    pub tables: Vec<Table>,
    /// Actions that tables or controls run; one entry for each control that has the action.
    pub actions: Vec<Action>,
    /// Instances of extern objects.
    pub objects: Vec<Object>,
    /// Value sets that parsers use.
    pub value_sets: Vec<ValueSet>,
    /// Calls of extern functions in controls. A call in an action is listed for each copy that p4c makes of the action.
    pub calls: Vec<Call>,
    /// Structs, headers and header unions.
    pub fields: Vec<Fields>,
    /// Enums.
    pub enums: Vec<Enum>,
    /// Types declared with `type`.
    pub new_types: Vec<NewType>,
    /// Members of `error`.
    pub errors: Vec<String>,
}

/// An annotation. `@name` is included, although it has already been applied.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Annotation {
    /// Without the `@`.
    pub name: String,
    /// Whether it has the form `@name[...]`.
    pub structured: bool,
    /// The body's tokens, with blanks between them; empty if it is structured.
    pub text: String,
    /// The body as a list of literals, if it is one.
    pub values: Option<Vec<Value>>,
    /// The body as `key = literal` pairs, if it consists of them.
    pub pairs: Option<Vec<(String, Value)>>,
}

/// A constant.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// Decimal number; for a member of a serializable enum, its value.
    Number(String),
    /// `true` or `false`.
    Bool(bool),
    /// A string.
    Text(String),
    /// Member of an enum, or of `error`.
    Member(String),
    /// Control-plane name of an extern object.
    Object(String),
    /// An extern object created in place.
    New(Box<Object>),
}

/// A type.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TypeRef {
    /// `bool`
    Bool,
    /// `error`
    Error,
    /// `bit<W>`, in bits.
    Bit(u32),
    /// `int<W>`, in bits.
    Int(u32),
    /// `varbit<W>`, in bits.
    Varbit(u32),
    /// One of [`ControlPlane::fields`].
    Fields(String),
    /// One of [`ControlPlane::enums`].
    Enum(String),
    /// One of [`ControlPlane::new_types`].
    New(String),
    /// A tuple or list.
    Tuple(Vec<TypeRef>),
    /// Element and length.
    Stack(Box<TypeRef>, u32),
    /// A type that no control plane can hold, as written.
    Other(String),
}

/// Kind of a type with fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldsKind {
    /// `struct`
    Struct,
    /// `header`
    Header,
    /// `header_union`
    Union,
}

/// A struct, header or header union. A generic type has an entry for each list of type arguments.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Fields {
    /// Its kind.
    pub kind: FieldsKind,
    /// Control-plane name.
    pub name: String,
    /// Its annotations.
    pub annotations: Vec<Annotation>,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// A field, action parameter or match field.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Field {
    /// Control-plane name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: TypeRef,
    /// Its annotations.
    pub annotations: Vec<Annotation>,
}

/// An enum.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Enum {
    /// Control-plane name.
    pub name: String,
    /// Type of its values, if it is serializable.
    pub underlying: Option<TypeRef>,
    /// Names and values; without an underlying type, the values are the indices.
    pub members: Vec<(String, Value)>,
}

/// A type declared with `type`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NewType {
    /// Control-plane name.
    pub name: String,
    /// Its annotations.
    pub annotations: Vec<Annotation>,
    /// Its underlying type.
    #[serde(rename = "type")]
    pub ty: TypeRef,
}

/// A table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Table {
    /// Control-plane name.
    pub name: String,
    /// Its annotations.
    pub annotations: Vec<Annotation>,
    /// Its keys, in order.
    pub keys: Vec<Key>,
    /// Its actions in order, including the implied default action.
    pub actions: Vec<ActionRef>,
    /// The action that runs on a miss.
    pub default_action: ActionCall,
    /// Whether the default action cannot be changed.
    pub const_default: bool,
    /// Whether the entries are declared constant, even if there are none.
    pub const_entries: bool,
    /// Its entries in source order, or by priority if priorities in the source are out of order.
    pub entries: Vec<Entry>,
    /// Further properties, including `size`.
    pub properties: Vec<Property>,
}

/// A key of a table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Key {
    /// Name, type and annotations.
    #[serde(flatten)]
    pub field: Field,
    /// Name of the match kind.
    pub match_kind: String,
}

/// An action in a table's list.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ActionRef {
    /// Control-plane name.
    pub action: String,
    /// Annotations in the list; an implied action has `@defaultonly`.
    pub annotations: Vec<Annotation>,
}

/// An action with values for its parameters.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ActionCall {
    /// Control-plane name.
    pub action: String,
    /// Parameters, in the order of their declaration, and their values.
    pub args: Vec<(String, Value)>,
}

/// An entry that the program itself puts into a table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Entry {
    /// One set for each key.
    pub keys: Vec<KeySet>,
    /// The action that it runs.
    pub action: ActionCall,
    /// The largest wins; `None` if no key needs a priority.
    pub priority: Option<u64>,
    /// Whether it cannot be changed.
    pub is_const: bool,
}

/// Values that a key admits.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySet {
    /// All.
    Any,
    /// One.
    Exact(Value),
    /// Value and mask.
    Mask(Value, Value),
    /// Smallest and largest.
    Range(Value, Value),
}

/// A property of a table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// Its annotations.
    pub annotations: Vec<Annotation>,
    /// Its value, if that is a constant or an extern object.
    pub value: Option<Value>,
}

/// An action.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Action {
    /// Control-plane name.
    pub name: String,
    /// Its annotations.
    pub annotations: Vec<Annotation>,
    /// Parameters that table entries supply; empty if only code runs the action.
    pub params: Vec<Field>,
}

/// An instance of an extern object.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Object {
    /// Name of its type.
    #[serde(rename = "extern")]
    pub of: String,
    /// Control-plane name; empty if it is created in place.
    pub name: String,
    /// Its annotations.
    pub annotations: Vec<Annotation>,
    /// Its type arguments.
    pub type_args: Vec<TypeRef>,
    /// Arguments of its constructor that are constants, by parameter.
    pub args: BTreeMap<String, Value>,
}

/// A value set of a parser.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ValueSet {
    /// Control-plane name.
    pub name: String,
    /// Its annotations.
    pub annotations: Vec<Annotation>,
    /// Type of its elements.
    #[serde(rename = "type")]
    pub ty: TypeRef,
    /// Maximum number of elements.
    pub size: Option<Value>,
}

/// A call of an extern function.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Call {
    /// The function's name.
    pub function: String,
    /// Its type arguments.
    pub type_args: Vec<TypeRef>,
}

/// The control plane's view of a checked program.
pub(crate) fn describe(program: &Program, main: InstanceId) -> ControlPlane {
    walk::Walk::new(program).run(main)
}
