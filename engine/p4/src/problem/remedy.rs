// SPDX-License-Identifier: MIT OR Apache-2.0
//! Remedies for problems, where they do not depend on the context.

use super::Problem;

const NAME_A_CONSTANT: &str = "use a literal, a `const` or a constructor parameter";
const GIVE_WIDTH: &str = "give the number a width, as in `8w1`";
const LOOK_AT_FIELDS: &str = "use its fields one by one";
const NO_DIRECTION: &str = "remove the direction";
const ONE_OF_THEM: &str = "remove one of them";
const OVERLOADS: &str = "overloads must differ in the number or the names of their parameters";
const WRITABLE: &str = "only variables and `out` or `inout` parameters can be assigned to";

impl Problem {
    /// General advice, unless the message already contains it.
    pub(crate) fn remedy(&self) -> Option<String> {
        let written = match self {
            Problem::AnnotationString { name } => format!("write `@{name}(\"text\")`"),
            Problem::AnnotationPairs { name } => format!("write `@{name}(name = \"...\", version = \"...\")`"),
            Problem::PartType { whole, .. } => parts_of(whole)?.into(),
            Problem::SetForMatchKind { kind } => sets_of(kind)?.into(),
            Problem::CannotCast { from, to } => casts(from, to)?.into(),
            Problem::VariableType { ty } | Problem::ConstType { ty } => instead_of(ty)?.into(),
            Problem::ParserOnly { member } if &**member == "verify" => "elsewhere use `if`".into(),
            Problem::ParserOnly { .. } => "elsewhere use an index: `stack[0]`".into(),
            _ => self.fixed_remedy()?.into(),
        };
        Some(written)
    }

    fn fixed_remedy(&self) -> Option<&'static str> {
        self.remedy_of_text().or_else(|| self.remedy_of_types()).or_else(|| self.remedy_of_code())
    }

    /// Preprocessor, tokens, grammar and names.
    fn remedy_of_text(&self) -> Option<&'static str> {
        Some(match self {
            Problem::UnterminatedIf {} => "end it with `#endif`",
            Problem::UnterminatedMacroCall { .. } => "end them with `)`",
            Problem::UnterminatedComment {} => "end it with `*/`",
            Problem::UnterminatedString {} => "end it with `\"`",
            Problem::StrayBrace {} => "remove it, or open the block that it closes",
            Problem::UnderscoreName {} => "give it a name",
            Problem::NotAtTopLevel { .. } => "declare it inside a parser or control",
            Problem::NoApplyBlock { .. } => "add `apply { ... }` after its declarations",
            Problem::DeclarationAsBody {} => "put it into braces, with the statements that use it",
            Problem::Duplicate { .. } => "rename one of them",
            Problem::DuplicateMember { .. } | Problem::DuplicateField { .. } => ONE_OF_THEM,
            Problem::NotCallable { .. } => "a table, parser or control is applied: `name.apply(...)`",
            _ => return None,
        })
    }

    /// Types, constants and values.
    fn remedy_of_types(&self) -> Option<&'static str> {
        Some(match self {
            Problem::MuxTypes { .. } => "cast one side to the type of the other",
            Problem::MuxWidth {} | Problem::NoWidth {} => GIVE_WIDTH,
            Problem::NoValue {} => "make it a statement of its own",
            Problem::NotConstant {} | Problem::WidthNotConstant {} | Problem::ArgumentNotKnown { .. } => {
                NAME_A_CONSTANT
            }
            Problem::TupleIndex {} | Problem::StackSize {} | Problem::StackCount {} => NAME_A_CONSTANT,
            Problem::SliceNotConstant {} => "shift by the variable amount, then slice with constant bounds",
            Problem::SecondVarbit {} => "split it into two headers with one `varbit` each",
            Problem::CannotSlice { .. } => "cast it to `bit<W>` first",
            Problem::SliceOutOfRange { .. } => "bits are numbered from 0, the lowest",
            Problem::PartCount { .. } => "give as many, or end with `...` for default values",
            Problem::MissingField { .. } => "give it, or end with `...` for default values",
            Problem::ParamDirection { .. } | Problem::ConstructorDirection { .. } => NO_DIRECTION,
            Problem::NewtypeOf { .. } => "`typedef` gives any type another name",
            Problem::ValueSetType { .. } => "use `bit<W>`, or a struct of the values to match",
            Problem::SelectType { .. } | Problem::SwitchType { .. } | Problem::KeyType { .. } => LOOK_AT_FIELDS,
            Problem::SelfReference { .. } => "declare this method in another extern",
            _ => return None,
        })
    }

    /// Statements, declarations, tables and rules of the architecture.
    fn remedy_of_code(&self) -> Option<&'static str> {
        Some(match self {
            Problem::NotWritable {} | Problem::ArgumentNotWritable { .. } => WRITABLE,
            Problem::DuplicateArgument { .. } | Problem::DuplicateLabel {} | Problem::DuplicateAnnotation { .. } => {
                ONE_OF_THEM
            }
            Problem::MixedArguments {} => "write `name = value` for all of them, or for none",
            Problem::NoOverload { .. } | Problem::AmbiguousCall { .. } => OVERLOADS,
            Problem::ActionCallOutside {} => "call it in an `apply` block, or let a table run it",
            Problem::ApplyOutside { .. } => "controls and tables are applied in `apply` blocks, parsers in states",
            Problem::CallInSelect {} => "store its result in a variable before the `select`",
            Problem::InstanceHere {} => "declare it at top level, or in the enclosing parser or control",
            Problem::NotConstructible { .. } => "a variable is declared without parentheses: `Type name;`",
            Problem::InitNotExtern {} | Problem::NoAbstractMethods { .. } => "remove the braces",
            Problem::MethodMissing { .. } => "implement it: `Type(...) name = { ... };`",
            Problem::MethodMismatch { .. } => "use the types and directions of the declaration",
            Problem::DefaultNotAllowed { .. } => {
                "remove it: `out`, `inout` and `@optional` parameters have no default value"
            }
            Problem::DirectionAfter { .. } => "move it to the front",
            Problem::BuiltinState { .. } => "choose another name",
            Problem::NoStartState { .. } => "add `state start { ... }`",
            Problem::KeyCount { .. } => "write one per key in parentheses, or `default`",
            Problem::AfterDefault {} => "move `default` to the end",
            Problem::ReturnsNothing {} => "write `return;`",
            Problem::ReturnsValue { .. } => "write `return value;`",
            Problem::MissingReturn { .. } => "end every path through it with `return`",
            Problem::ArrayOfInstances {} => "declare them one by one",
            Problem::ParserNeverEnds { .. } => "add a `transition` that leads to `accept`",
            Problem::HidesParameter { .. } => "give it another name",
            Problem::OptionalHere { .. } => "remove the annotation",
            Problem::NoActions { .. } => "add `actions = { ... }`",
            Problem::NotInActionList { .. } => "add it to `actions`",
            Problem::ControlPlaneParam { .. } => "leave it out",
            Problem::BoundDifferently {} => "repeat the argument from `actions`",
            Problem::EntriesWithoutKey {} => "add a `key`, or remove them",
            Problem::PriorityInConst {} => "remove `const`, or the priorities: the first entry that matches wins",
            Problem::NotAPrefix {} => "use ones followed by zeros",
            Problem::PriorityNotNeeded {} => "remove them: with `exact` and `lpm` keys, only one entry can match best",
            Problem::FirstPriority {} => "begin it with `priority = number :`",
            Problem::PropertyOrder { .. } => "move it",
            Problem::MainNotPackage {} => "end the program with `V1Switch(...) main;`",
            Problem::TwoLpmKeys { .. } => "make the others `exact` or `ternary`",
            Problem::MeterUnread { .. } => "call its `read` in an action of the table",
            Problem::MeterUnattached { .. } => "name it in the table: `meters = name;`",
            Problem::RunTimeDivision {} => "shift, or look the quotient up in a table",
            Problem::ShiftAmountWidth { .. } => "cast the amount",
            _ => return None,
        })
    }
}

/// Advice for a cast that is not allowed (spec section 8.11).
fn casts(from: &str, to: &str) -> Option<&'static str> {
    let is_bits = |ty: &str| ty.starts_with("bit<") || ty.starts_with("int<");
    match (from, to) {
        ("bool", _) | (_, "bool") => Some("`bool` can be cast to `bit<1>` and back"),
        _ if is_bits(from) && is_bits(to) => Some("cast in steps, each of which changes either the width or the sign"),
        _ => None,
    }
}

/// What to write if a type cannot be the type of a variable or constant.
fn instead_of(ty: &str) -> Option<&'static str> {
    match ty {
        "int" => Some("give it a width, as in `bit<32>`"),
        "string" => Some("make it a constant"),
        _ if ty.starts_with("list<") => Some("lists can only be arguments of constructors"),
        _ => Some("declare the object instead of a variable: `Type(...) name;`"),
    }
}

/// The types that headers and header unions can hold (spec section 7.2.8).
fn parts_of(whole: &str) -> Option<&'static str> {
    Some(match whole {
        "a header" => "headers hold bits, `bool`, enums of bits, `varbit`, and structs of bits",
        "a header union" => "unions hold headers",
        _ => return None,
    })
}

/// The sets with which a key of a match kind can be compared (spec section 14.2.1.4).
fn sets_of(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "exact" => "an `exact` key is compared with a value",
        "lpm" => "an `lpm` key is compared with a value, `value &&& prefix` or `_`",
        "ternary" => "a `ternary` key is compared with a value, `value &&& mask` or `_`",
        "range" => "a `range` key is compared with a value, `low .. high` or `_`",
        "optional" => "an `optional` key is compared with a value or `_`",
        _ => return None,
    })
}
