// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tokens of P4_16 (spec section 6.2).

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use num_bigint::BigInt;

use crate::source::Span;

/// The text of an identifier, shared by all its uses.
pub(crate) type Name = Arc<str>;

/// A token and its source range.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
    /// Whether it is the first of its line.
    pub(crate) first: bool,
}

/// An integer literal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct IntLiteral {
    /// Its digits' value.
    pub(crate) value: BigInt,
    /// Width and whether it has a sign, for `8w255` and `8s127`.
    pub(crate) ty: Option<(u32, bool)>,
    /// Base of its digits.
    pub(crate) radix: u32,
}

impl IntLiteral {
    /// The number in its own base, without width.
    pub(crate) fn digits(&self) -> String {
        let prefix = match self.radix {
            16 => "0x",
            8 => "0o",
            2 => "0b",
            _ => "",
        };
        format!("{prefix}{}", self.value.to_str_radix(self.radix))
    }
}

macro_rules! tokens {
    (keywords { $($kw:ident = $kw_text:literal),* $(,)? } marks { $($mark:ident = $mark_text:literal),* $(,)? }) => {
        /// Kinds of tokens.
        #[derive(Clone, PartialEq, Debug)]
        pub(crate) enum TokenKind {
            $($kw,)*
            $($mark,)*
            /// Identifier.
            Ident(Name),
            /// Integer.
            Int(Rc<IntLiteral>),
            /// Contents of a string, escapes resolved.
            Str(Name),
            /// `>` followed directly by another `>`: half of a shift, or the end of two argument lists.
            GtJoint,
            /// The end of a line that began with `@pragma`.
            PragmaEnd,
            /// A character that is not a token.
            Unknown(Name),
            /// The end of the program.
            Eof,
        }

        impl TokenKind {
            /// The keyword of that text.
            pub(crate) fn keyword(text: &str) -> Option<TokenKind> {
                match text { $($kw_text => Some(TokenKind::$kw),)* _ => None }
            }

            /// The operator or punctuation mark of that text.
            pub(crate) fn mark(text: &str) -> Option<TokenKind> {
                match text { $($mark_text => Some(TokenKind::$mark),)* _ => None }
            }

            /// Its text, if it is a keyword.
            pub(crate) fn keyword_text(&self) -> Option<&'static str> {
                match self { $(TokenKind::$kw => Some($kw_text),)* _ => None }
            }
        }

        impl fmt::Display for TokenKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(TokenKind::$kw => f.write_str($kw_text),)*
                    $(TokenKind::$mark => f.write_str($mark_text),)*
                    TokenKind::Ident(name) | TokenKind::Unknown(name) => f.write_str(name),
                    TokenKind::Int(literal) => match literal.ty {
                        Some((width, signed)) => {
                            write!(f, "{width}{}{}", if signed { 's' } else { 'w' }, literal.value)
                        }
                        None => write!(f, "{}", literal.value),
                    },
                    TokenKind::Str(text) => write!(f, "\"{text}\""),
                    TokenKind::GtJoint => f.write_str(">"),
                    TokenKind::PragmaEnd => f.write_str("end of line"),
                    TokenKind::Eof => f.write_str("end of file"),
                }
            }
        }
    };
}

tokens! {
    keywords {
        Abstract = "abstract", Action = "action", Actions = "actions", Apply = "apply", Bit = "bit", Bool = "bool",
        Break = "break", Const = "const", Continue = "continue", Control = "control", Default = "default",
        Else = "else", Entries = "entries", Enum = "enum", Error = "error", Exit = "exit", Extern = "extern",
        False = "false", For = "for", Header = "header", HeaderUnion = "header_union", If = "if", In = "in",
        Inout = "inout", Int_ = "int", Key = "key", List = "list", MatchKind = "match_kind", Out = "out",
        Package = "package", Parser = "parser", Priority = "priority", Return = "return", Select = "select",
        State = "state", String_ = "string", Struct = "struct", Switch = "switch", Table = "table", This = "this",
        Transition = "transition", True = "true", Tuple = "tuple", Type = "type", Typedef = "typedef",
        Varbit = "varbit", ValueSet = "value_set", Void = "void", Underscore = "_",
    }
    marks {
        Pragma = "@pragma",
        Mask = "&&&", Dots = "...", Range = "..", Shl = "<<", AndAnd = "&&", OrOr = "||", EqEq = "==", Ne = "!=",
        Ge = ">=", Le = "<=", Concat = "++", Plus = "+", Minus = "-", Star = "*", Slash = "/", Percent = "%",
        PlusSat = "|+|", MinusSat = "|-|", Pipe = "|", Amp = "&", Caret = "^", Tilde = "~", Not = "!",
        PlusAssign = "+=", MinusAssign = "-=", StarAssign = "*=", SlashAssign = "/=", PercentAssign = "%=",
        AmpAssign = "&=", PipeAssign = "|=", CaretAssign = "^=", ShlAssign = "<<=", ShrAssign = ">>=",
        PlusSatAssign = "|+|=", MinusSatAssign = "|-|=", PlusColon = "+:", InvalidHeader = "{#}",
        LParen = "(", RParen = ")", LBracket = "[", RBracket = "]", LBrace = "{", RBrace = "}", Lt = "<", Gt = ">",
        Colon = ":", Comma = ",", Question = "?", Dot = ".", Assign = "=", Semicolon = ";", At = "@",
    }
}
