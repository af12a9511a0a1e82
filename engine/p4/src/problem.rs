// SPDX-License-Identifier: MIT OR Apache-2.0
//! The closed list of problems that the front end reports.
//!
//! Ids are stable: `E01` preprocessor, `E02` tokens and grammar, `E03` names, `E04` types, `E05` statements and
//! declarations, `E06` tables, `E07` rules of the architecture, `U` not supported, `I` internal errors, `W` warnings.
//! Each but `I0001` has a case in `tests`. `E10` to `E16` and `W10` belong to the separate list of `marklab-tofino`.

mod remedy;

use std::fmt;

use crate::token::Name;

/// Category of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Category {
    /// The program is wrong (`E...`).
    Error,
    /// The program may be valid, but uses something that is not supported (`U...`).
    Unsupported,
    /// The front end has a bug (`I...`).
    Internal,
    /// The program can be compiled, but probably does not do what its author meant (`W...`).
    Warning,
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Category::Error => "error",
            Category::Unsupported => "unsupported",
            Category::Internal => "internal error",
            Category::Warning => "warning",
        })
    }
}

/// A closed list of problems: an enum with ids and texts.
pub trait Kind: fmt::Display {
    /// The stable id: `E0301`.
    fn id(&self) -> &'static str;

    /// The category, from the first letter of the id.
    fn category(&self) -> Category {
        match self.id().as_bytes()[0] {
            b'E' => Category::Error,
            b'U' => Category::Unsupported,
            b'W' => Category::Warning,
            _ => Category::Internal,
        }
    }
}

/// Declares a closed list: `problems! { /// Doc comment. Name; "E0101" Variant { field: Type } = "{field} is wrong"; }`
#[macro_export]
macro_rules! problems {
    ($(#[$doc:meta])* $list:ident;
     $($id:literal $name:ident { $($field:ident: $ty:ty),* $(,)? } = $text:literal;)*) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum $list {
            $(#[doc = $text] $name { $(#[doc = concat!("`", stringify!($field), "` of the text.")] $field: $ty),* },)*
        }

        impl $list {
            /// Ids of all problems.
            pub const IDS: &'static [&'static str] = &[$($id),*];

            /// The stable id.
            pub const fn id(&self) -> &'static str {
                match self { $($list::$name { .. } => $id,)* }
            }
        }

        impl $crate::Kind for $list {
            fn id(&self) -> &'static str {
                self.id()
            }
        }

        impl ::std::fmt::Display for $list {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self { $($list::$name { $($field),* } => write!(f, $text),)* }
            }
        }
    };
}

problems! {
    /// A problem of a program; its text is the message.
    Problem;

    "E0101" CannotRead { path: String, reason: String } = "cannot read `{path}`: {reason}";
    "E0102" CannotInclude { name: String, reason: String } = "cannot include `{name}`: {reason}";
    "E0103" IncludeTooDeep { limit: usize } = "includes are nested more than {limit} deep";
    "E0104" TooManyFiles { limit: usize } = "more than {limit} files are included";
    "E0105" BadInclude {} = "`#include` expects \"file\" or <file>";
    "E0106" UnterminatedIf {} = "this condition has no `#endif`";
    "E0107" NoIf { directive: Name } = "`#{directive}` without `#if`";
    "E0108" AfterElse { directive: Name } = "`#{directive}` after `#else`";
    "E0109" MacroName {} = "expected the name of a macro";
    "E0110" BadMacroParameters {} = "malformed parameters of a macro";
    "E0111" PasteAtEdge {} = "`##` cannot stand at the start or end of a macro";
    "E0112" BadPaste { left: Name, right: Name } = "pasting `{left}` and `{right}` does not give one token";
    "E0113" UnterminatedMacroCall { name: Name } = "the arguments of macro `{name}` have no closing parenthesis";
    "E0114" MacroArguments { name: Name, wanted: usize, found: usize } =
        "macro `{name}` takes {wanted} argument(s), {found} given";
    "E0115" ExpansionTooLarge { limit: usize } = "macros expand to more than {limit} tokens";
    "E0116" BadCondition { found: Name } = "malformed condition at `{found}`";
    "E0117" ConditionDivisionByZero {} = "division by zero in a condition";
    "E0118" ErrorDirective { text: String } = "#error {text}";
    "E0119" BadLine {} = "`#line` expects a line number";

    "E0201" UnterminatedComment {} = "this comment has no end";
    "E0202" UnterminatedString {} = "this string has no closing quote";
    "E0203" UnknownCharacter { text: Name } = "`{text}` has no meaning in P4";
    "E0204" LiteralTooLong { limit: usize } = "a number may have no more than {limit} digits";
    "E0205" UnexpectedToken { found: String, expected: String } = "found `{found}`, expected {expected}";
    "E0206" UnexpectedEnd { expected: String } = "the file ends here, expected {expected}";
    "E0207" TooDeep { limit: u32 } = "nested more than {limit} deep";
    "E0208" StrayBrace {} = "this `}}` has no matching `{{`";
    "E0209" UnderscoreName {} = "`_` cannot be declared";
    "E0210" NotAtTopLevel { what: &'static str } = "{what} cannot be declared at top level";
    "E0211" NoApplyBlock { name: Name } = "control `{name}` has no `apply` block";
    "E0212" TypeAsExpression {} = "a type cannot be used as a value";
    "E0213" DeclarationAsBody {} = "a declaration cannot be the whole body of a statement";
    "E0214" WidthTooLarge { width: String, limit: u32 } = "a width of {width} bits is more than the {limit} supported";
    "E0215" NoReturnType { method: Name } = "method `{method}` has no return type";

    "E0301" NotAType { name: Name } = "`{name}` is not a type";
    "E0302" UnknownName { name: Name } = "`{name}` is not declared";
    "E0303" UnknownType { name: Name } = "there is no type `{name}`";
    "E0304" UnknownState { name: Name } = "there is no state `{name}`";
    "E0305" UnknownAction { name: Name } = "there is no action `{name}`";
    "E0306" UnknownMatchKind { name: Name } = "there is no match kind `{name}`";
    "E0307" Duplicate { name: Name } = "`{name}` is declared twice";
    "E0308" DuplicateMember { what: &'static str, member: Name } = "`{member}` is already a member of this {what}";
    "E0309" DuplicateField { field: Name } = "field `{field}` is given twice";
    "E0310" NoField { ty: String, field: Name } = "`{ty}` has no field `{field}`";
    "E0311" NoSuchConstant { ty: String, member: Name } = "`{ty}` has no member `{member}`";
    "E0312" NoMethod { ty: String, method: Name } = "`{ty}` has no method `{method}`";
    "E0313" NoParameter { name: Name, param: Name } = "`{name}` has no parameter `{param}`";
    "E0314" NotAValue { name: Name, what: &'static str } = "`{name}` is {what}, which has no value";
    "E0315" NotCallable { name: Name, what: &'static str } = "`{name}` is {what}, which cannot be called";
    "E0316" NotAnAction { name: Name, what: &'static str } = "`{name}` is {what}, not an action";
    "E0317" TypeHasNoMembers { ty: String } = "`{ty}` has no members";

    "E0401" Mismatch { expected: String, found: String } = "expected `{expected}`, found `{found}`";
    "E0402" BinaryTypes { op: &'static str, left: String, right: String } =
        "`{op}` is not defined on `{left}` and `{right}`";
    "E0403" UnaryType { op: &'static str, ty: String } = "`{op}` is not defined on `{ty}`";
    "E0404" CannotCast { from: String, to: String } = "`{from}` cannot be cast to `{to}`";
    "E0405" NotABool { ty: String } = "a condition must be `bool`, this is `{ty}`";
    "E0406" MuxTypes { then: String, otherwise: String } = "the two sides of `?:` are `{then}` and `{otherwise}`";
    "E0407" MuxWidth {} = "one side of `?:` must have a width";
    "E0408" NoValue {} = "this expression has no value";
    "E0409" NotConstant {} = "this must be known at compile time";
    "E0410" WidthNotConstant {} = "a width must be a constant number";
    "E0411" BadWidth { width: String } = "a type cannot be {width} bits wide";
    "E0412" StackSize {} = "the size of a stack must be a non-negative constant";
    "E0413" StackTooLarge { limit: u32 } = "a stack may have no more than {limit} elements";
    "E0414" PartType { whole: &'static str, ty: String } = "`{ty}` cannot be part of {whole}";
    "E0415" SecondVarbit {} = "this header has more than one `varbit` field";
    "E0416" TypeArguments { ty: String, wanted: usize, found: usize } =
        "`{ty}` takes {wanted} type argument(s), {found} given";
    "E0417" TypeArgumentKind { ty: String } = "`{ty}` cannot be a type argument";
    "E0418" CannotInfer { param: Name, name: Name } = "cannot infer type parameter `{param}` of `{name}`";
    "E0419" CannotIndex { ty: String } = "`{ty}` cannot be indexed";
    "E0420" IndexType { ty: String } = "an index must be a number, this is `{ty}`";
    "E0421" IndexOutOfRange { index: String, len: u32 } = "index {index} is out of range for {len} element(s)";
    "E0422" TupleIndex {} = "the index of a tuple must be a constant";
    "E0423" CannotSlice { ty: String } = "`{ty}` cannot be sliced";
    "E0424" SliceNotConstant {} = "the bounds of a slice must be constants";
    "E0425" SliceOutOfRange { index: String, width: u32 } = "there is no bit {index} in {width} bits";
    "E0426" SliceOrder { hi: u32, lo: u32 } = "the bounds of a slice are [high:low], but {hi} is less than {lo}";
    "E0427" DivisionByZero {} = "division by zero";
    "E0428" NegativeDivision {} = "division is not defined for negative numbers";
    "E0429" NegativeShift { by: String } = "cannot shift by {by} bits";
    "E0430" NumberTooLarge {} = "the result is too large";
    "E0432" PartCount { ty: String, wanted: usize, found: usize } = "`{ty}` has {wanted} part(s), {found} given";
    "E0433" MissingField { ty: String, field: Name } = "field `{field}` of `{ty}` is not given";
    "E0434" DotsNotLast {} = "`...` must be the last element";
    "E0435" EnumType { ty: String } = "the underlying type of an enum must be `bit<W>` or `int<W>`, this is `{ty}`";
    "E0436" EnumValue { value: String, ty: String } = "{value} is not a value of `{ty}`";
    "E0437" NewtypeOf { ty: String } = "`type` cannot make a new type from `{ty}`";
    "E0438" VariableType { ty: String } = "a variable cannot be of type `{ty}`";
    "E0439" ConstType { ty: String } = "a constant cannot be of type `{ty}`";
    "E0440" ParamType { ty: String } = "a parameter cannot be of type `{ty}` here";
    "E0441" ParamDirection { param: Name, ty: String } =
        "parameter `{param}` of type `{ty}` cannot have a direction";
    "E0442" ReturnType { ty: String } = "`{ty}` cannot be returned";
    "E0443" NotAHeader { ty: String } = "a header is needed here, this is `{ty}`";
    "E0444" NotAHeaderStack { member: Name, ty: String } = "only stacks of headers have `{member}`, this is `{ty}`";
    "E0445" NoSize { ty: String } = "`{ty}` has no fixed size";
    "E0446" ExtractNeedsSize { ty: String } = "`{ty}` has a `varbit`: give its size as a second argument";
    "E0447" ExtractFixed { ty: String } = "`{ty}` has no `varbit`: `extract` takes no size for it";
    "E0448" ValueSetType { ty: String } = "a value set cannot hold values of type `{ty}`";
    "E0449" SelectType { ty: String } = "`select` cannot match values of type `{ty}`";
    "E0450" SwitchType { ty: String } = "`switch` cannot match values of type `{ty}`";
    "E0451" NotACollection { ty: String } = "`for` cannot iterate over `{ty}`";
    "E0452" KeyType { ty: String } = "a key cannot be of type `{ty}`";
    "E0453" AnnotationValue { ty: String } =
        "a structured annotation holds constants of `int`, `string` or `bool`, not `{ty}`";
    "E0454" StaticAssert { message: String } = "static assertion failed{message}";
    "E0455" DontCareType {} = "`_` cannot be part of the type of a constant or variable";
    "E0456" SelfArgument { ty: String, arg: String } = "`{ty}` cannot have `{arg}`, which contains it, as a type argument";
    "E0457" SelfReference { name: Name } = "extern `{name}` cannot be used in its own declaration";

    "E0501" NotWritable {} = "this cannot be assigned to";
    "E0502" ArgumentCount { name: Name, wanted: usize, found: usize } =
        "`{name}` takes {wanted} argument(s), {found} given";
    "E0503" MissingArgument { name: Name, param: Name } = "argument for parameter `{param}` of `{name}` is missing";
    "E0504" DuplicateArgument { param: Name } = "parameter `{param}` is given twice";
    "E0505" MixedArguments {} = "either all arguments must have names or none";
    "E0506" ArgumentType { param: Name, expected: String, found: String } =
        "parameter `{param}` is `{expected}`, found `{found}`";
    "E0507" ArgumentNotWritable { direction: &'static str, param: Name } =
        "the argument for `{direction}` parameter `{param}` must be assignable";
    "E0508" ArgumentNotKnown { param: Name } =
        "the argument for `{param}` must be known at compile time";
    "E0509" IgnoredArgument { param: Name } = "`_` can only be given for an `out` parameter, and `{param}` is not one";
    "E0510" NoOverload { name: Name, args: usize } = "no `{name}` matches these {args} argument(s)";
    "E0511" AmbiguousCall { name: Name } = "more than one `{name}` matches this call";
    "E0512" CannotCall {} = "this cannot be called";
    "E0513" ActionCallOutside {} = "an action can only be called in an `apply` block or an action";
    "E0514" ApplyOutside { what: &'static str } = "{what} cannot be applied here";
    "E0515" CallInSelect {} = "a case of a `select` cannot call functions";
    "E0516" ValueSetOutside { name: Name } = "value set `{name}` can only be used as a case of a `select`";
    "E0517" ThisOutside {} = "`this` can only be used in the implementation of an abstract method";
    "E0518" ParserOnly { member: Name } = "`{member}` can only be used in a parser";
    "E0519" NotInParser { member: Name } = "`{member}` cannot be used in a parser";
    "E0520" StackCount {} = "the number of elements must be a non-negative constant";
    "E0521" InstanceHere {} = "an instance cannot be created here";
    "E0522" NoConstructor { ty: String } = "`{ty}` has no constructor";
    "E0523" NotConstructible { ty: String } = "`{ty}` cannot be instantiated";
    "E0524" ConstructorDirection { param: Name } = "parameter `{param}` of a constructor cannot have a direction";
    "E0525" ConstructorReturns {} = "a constructor cannot return anything";
    "E0526" InitNotExtern {} = "only instances of externs can have an initializer";
    "E0527" NoAbstractMethods { ty: String } = "`{ty}` has no abstract methods to implement";
    "E0528" MethodMissing { method: Name } = "abstract method `{method}` is not implemented";
    "E0529" MethodMismatch { method: Name } = "`{method}` is declared with a different signature";
    "E0530" DefaultNotAllowed { param: Name } = "parameter `{param}` cannot have a default value";
    "E0531" DirectionAfter { param: Name } =
        "parameter `{param}` has a direction and must come before those without one";
    "E0532" LocalKind { what: &'static str, whole: &'static str } = "{what} cannot be declared in {whole}";
    "E0533" BuiltinState { name: Name } = "state `{name}` exists in every parser and cannot be declared";
    "E0534" NoStartState { parser: Name } = "parser `{parser}` has no state `start`";
    "E0535" KeyCount { wanted: usize, found: usize } = "expected {wanted} value(s), one for each key, found {found}";
    "E0536" StatementHere { what: &'static str, whole: &'static str } = "`{what}` cannot be used in {whole}";
    "E0537" OutsideLoop { what: &'static str } = "`{what}` outside of a loop";
    "E0538" AfterDefault {} = "`default` must be the last label";
    "E0539" DuplicateLabel {} = "this label is given twice";
    "E0540" ReturnsNothing {} = "a value cannot be returned here";
    "E0541" ReturnsValue { ty: String } = "a value of type `{ty}` must be returned";
    "E0542" MissingReturn { name: Name } = "function `{name}` can end without returning a value";
    "E0543" DuplicateAnnotation { name: Name } = "a structured annotation `@{name}` can be given only once";
    "E0544" AnnotationString { name: Name } = "`@{name}` takes one string";
    "E0545" ArrayOfInstances {} = "instances cannot be declared as an array";
    "E0546" ParserNeverEnds { parser: Name } = "parser `{parser}` never reaches accept or reject";
    "E0547" HidesParameter { name: Name } = "`{name}` hides a parameter";
    "E0548" OptionalHere { param: Name } = "parameter `{param}` of a declaration with a body cannot be `@optional`";
    "E0549" AbstractNameless { ty: String } = "`{ty}` has abstract methods, which a nameless instance cannot implement";
    "E0550" AnnotationMatchKind {} = "`@match` takes a match kind";
    "E0551" AnnotationTranslation {} = "`@p4runtime_translation` takes a URI and `string`, `bit<W>` or W";
    "E0552" AnnotationPairs { name: Name } = "`@{name}` takes `key = value` pairs";

    "E0601" NoActions { table: Name } = "table `{table}` has no `actions`";
    "E0602" NotInActionList { action: Name } = "action `{action}` is not in the table's `actions`";
    "E0603" ActionExpected {} = "an action is needed here";
    "E0604" ActionLabel {} = "a label of this `switch` must be the name of an action, or `default`";
    "E0605" ActionNotHere { action: Name, annotation: &'static str } =
        "action `{action}` is marked `@{annotation}` and cannot be used here";
    "E0606" ControlPlaneParam { param: Name } = "parameter `{param}` is set by the control plane and cannot be bound";
    "E0607" BoundDifferently {} = "this argument differs from the one in the table's `actions`";
    "E0608" KeyNeedsName {} = "the control plane needs a name for this key";
    "E0609" EntriesWithoutKey {} = "a table without a key cannot have entries";
    "E0610" SetForMatchKind { kind: Name } = "this set cannot be matched by `{kind}`";
    "E0611" PriorityInConst {} = "`const` entries cannot have priorities";
    "E0612" PropertyType { name: Name } = "this is not a valid value for property `{name}`";
    "E0613" NotAPrefix {} = "the mask of an `lpm` key must be a prefix";
    "E0614" PriorityNotNeeded {} = "the entries of this table cannot have priorities";
    "E0615" FirstPriority {} = "the first entry must have a priority if others have one";
    "E0616" NoDefaultAction {} = "the table has no default action and there is no action `NoAction`";
    "E0617" PriorityRange { priority: String } = "priority {priority} is negative";
    "E0618" PropertyOrder { property: Name, before: &'static str } = "`{property}` must come after `{before}`";
    "E0619" SameName { what: &'static str, name: Name } = "two {what} have the control-plane name `{name}`";

    "E0701" NoMain {} = "there is no instance `main`";
    "E0702" UnknownPackage { name: Name } = "`{name}` is not the package of a known architecture";
    "E0703" StructNeeded { ty: String } = "a struct is needed here, this is `{ty}`";
    "E0704" HeadersType { field: Name, ty: String } =
        "`{field}` is `{ty}`: the headers must be a struct of headers, header stacks and header unions";
    "E0705" NoConstantResult {} = "this operation on constants has no result";
    "E0706" FieldNeeded {} = "a field is needed here, not a computed value";
    "E0707" NoWidth {} = "a number without a width cannot be part of this";
    "E0708" RegisterType { ty: String } = "a register holds `bit<W>` or `int<W>`, not `{ty}`";
    "E0709" SizeNotPositive {} = "this size must be a positive number";
    "E0710" WrongBlock { name: Name, block: &'static str } = "`{name}` can only be called in {block}";
    "E0711" PropertyObject { name: Name, wanted: &'static str } = "property `{name}` needs {wanted}";
    "E0712" PackageShape { name: Name } = "`{name}` is not declared as `v1model.p4` declares it";
    "E0713" MainNotPackage {} = "`main` must be an instance of a package";
    "E0714" HeaderBits { name: Name, bits: u32 } =
        "header `{name}` has {bits} bits, which is not a whole number of bytes";
    "E0715" TwoLpmKeys { table: Name } = "table `{table}` has more than one `lpm` key";
    "E0716" MeterUnread { table: Name } = "no action of table `{table}` reads its direct meter";
    "E0717" MeterUnattached { meter: Name } = "no table names direct meter `{meter}` in its `meters`";
    "E0720" RunTimeDivision {} = "run-time division is possible only by a constant power of two";
    "E0721" ShiftAmount { limit: u32 } = "cannot shift by more than {limit} bits";
    "E0722" ShiftAmountWidth { width: u32, limit: u32 } =
        "a shift amount can be at most {limit} bits wide, this is {width}";

    "U0001" Unsupported { what: String } = "{what} is not supported";

    "I0001" Internal { what: String } = "{what}; this is a bug in the front end, please report it";

    "W0101" WarningDirective { text: String } = "#warning {text}";
    "W0102" MacroRedefined { name: Name } = "macro `{name}` is redefined";
    "W0401" Truncated { value: String, ty: String } = "{value} does not fit into `{ty}`: high bits are lost";
    "W0402" ShiftTooFar { by: String, width: u32 } = "shifting {width} bits by {by} shifts all of them out";
    "W0701" DefaultIgnored { table: Name } =
        "table `{table}` has an `implementation`: its default action is ignored, as on BMv2, and a miss does nothing";
    "W0702" BeyondBmv2 { what: &'static str } = "{what} runs here, but p4c-bm2-ss refuses it";
    "W0703" Foreign { name: String } =
        "nothing here implements extern `{name}`: the program can be checked, but not run";
    "W0704" LoopRunsOnce {} = "this loop runs here, but p4c-bm2-ss silently makes its body run only once";
    "W0705" PrefixOfOddWidth { width: u32 } =
        "an lpm key of {width} bits follows P4's rules here, but not on simple_switch";
}
