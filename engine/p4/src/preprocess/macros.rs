// SPDX-License-Identifier: MIT OR Apache-2.0
//! Macros: definition and expansion (C11 6.10.3).
//!
//! Expansion follows Prosser's algorithm: each token carries the set of macros whose expansion produced it. These
//! macros must not expand it again.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::diagnostics::{Diagnostics, Problem};
use crate::preprocess::lex::{PpKind, PpToken};
use crate::source::Span;
use crate::token::Name;

/// Maximum number of tokens that the macros of one compilation may produce; more indicates a runaway definition.
const MAX_EXPANSION: usize = 1_000_000;

/// A macro.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Macro {
    /// Parameters of a function-like macro.
    params: Option<Vec<Name>>,
    /// Whether the last parameter takes all further arguments.
    variadic: bool,
    body: Vec<PpToken>,
    /// The definition, for messages.
    pub(crate) span: Span,
}

impl Macro {
    /// An object-like macro with a body.
    pub(crate) fn object(body: Vec<PpToken>, span: Span) -> Macro {
        Macro { params: None, variadic: false, body, span }
    }

    /// Whether two definitions differ only in the amount of white space, so that one may repeat the other.
    pub(crate) fn same_as(&self, other: &Macro) -> bool {
        let alike = |(index, (a, b)): (usize, (&PpToken, &PpToken))| {
            a.kind == b.kind && a.text == b.text && (index == 0 || a.space == b.space)
        };
        self.params == other.params
            && self.variadic == other.variadic
            && self.body.len() == other.body.len()
            && self.body.iter().zip(&other.body).enumerate().all(alike)
    }

    /// Parses the tokens after `#define NAME`.
    pub(crate) fn parse(rest: &[PpToken], span: Span) -> Result<Macro, (Span, Problem)> {
        let Some((open, mut rest)) = rest.split_first().filter(|(first, _)| first.is("(") && !first.space) else {
            return Macro::object(rest.to_vec(), span).check_pastes();
        };
        let mut params = Vec::new();
        let mut variadic = false;
        loop {
            let Some((token, tail)) = rest.split_first() else {
                return Err((open.span, Problem::BadMacroParameters {}));
            };
            rest = tail;
            match token.kind {
                _ if token.is(")") && params.is_empty() && !variadic => break,
                PpKind::Ident if !params.contains(&token.text) => {
                    params.push(token.text.clone());
                    if let Some((dots, tail)) = rest.split_first()
                        && dots.is("...")
                    {
                        variadic = true;
                        rest = tail;
                    }
                }
                PpKind::Punct if token.is("...") => {
                    variadic = true;
                    params.push("__VA_ARGS__".into());
                }
                _ => return Err((token.span, Problem::BadMacroParameters {})),
            }
            match rest.split_first() {
                Some((close, tail)) if close.is(")") => {
                    rest = tail;
                    break;
                }
                Some((comma, tail)) if comma.is(",") && !variadic => rest = tail,
                _ => return Err((token.span, Problem::BadMacroParameters {})),
            }
        }
        Macro { params: Some(params), variadic, body: rest.to_vec(), span }.check_pastes()
    }

    fn check_pastes(self) -> Result<Macro, (Span, Problem)> {
        let edges = self.body.first().into_iter().chain(self.body.last());
        match edges.filter(|edge| edge.is("##")).map(|edge| edge.span).next() {
            Some(span) => Err((span, Problem::PasteAtEdge {})),
            None => Ok(self),
        }
    }

    fn param(&self, token: &PpToken) -> Option<usize> {
        let params = self.params.as_ref()?;
        (token.kind == PpKind::Ident).then(|| params.iter().position(|param| *param == token.text))?
    }
}

/// Names of the macros that must not expand a token.
type HideSet = Option<Rc<Vec<Name>>>;

fn hide(set: &HideSet, name: &Name) -> HideSet {
    let mut names = set.as_deref().cloned().unwrap_or_default();
    if !names.contains(name) {
        names.push(name.clone());
    }
    Some(Rc::new(names))
}

fn union(a: &HideSet, b: &HideSet) -> HideSet {
    match (a, b) {
        (Some(_), Some(names)) => names.iter().fold(a.clone(), |set, name| hide(&set, name)),
        (None, set) | (set, None) => set.clone(),
    }
}

fn intersection(a: &HideSet, b: &HideSet) -> HideSet {
    let (a, b) = (a.as_ref()?, b.as_ref()?);
    Some(Rc::new(a.iter().filter(|name| b.contains(name)).cloned().collect()))
}

/// A token during expansion.
#[derive(Clone, Debug)]
struct Item {
    token: PpToken,
    hidden: HideSet,
}

/// Expands macros.
pub(crate) struct Expander<'a> {
    pub(crate) macros: &'a FxHashMap<Name, Macro>,
    pub(crate) diagnostics: &'a mut Diagnostics,
    /// Tokens produced so far.
    pub(crate) produced: &'a mut usize,
    /// Returns the text of a macro that depends on its position: `__LINE__`, `__FILE__`, `__COUNTER__`.
    pub(crate) dynamic: &'a mut dyn FnMut(&str, Span) -> Option<PpToken>,
}

impl Expander<'_> {
    /// Expands all macros in a run of tokens.
    pub(crate) fn expand(&mut self, tokens: Vec<PpToken>) -> Vec<PpToken> {
        let items = tokens.into_iter().map(|token| Item { token, hidden: None }).collect();
        self.run(items).into_iter().map(|item| item.token).collect()
    }

    fn run(&mut self, mut pending: Vec<Item>) -> Vec<Item> {
        pending.reverse();
        let mut result = Vec::with_capacity(pending.len());
        while let Some(item) = pending.pop() {
            let replaced = item.token.kind == PpKind::Ident && self.replace(&item, &mut pending);
            if !replaced {
                result.push(item);
            }
        }
        result
    }

    /// Replaces one macro call at the top of `pending`; false if it is not a macro call.
    fn replace(&mut self, item: &Item, pending: &mut Vec<Item>) -> bool {
        let name = &item.token.text;
        if item.hidden.as_ref().is_some_and(|hidden| hidden.contains(name)) {
            return false;
        }
        if let Some(token) = (self.dynamic)(name, item.token.span) {
            pending.push(Item { token: PpToken { space: item.token.space, ..token }, hidden: hide(&None, name) });
            return true;
        }
        let macros = self.macros;
        let Some(definition) = macros.get(name) else { return false };
        if *self.produced > MAX_EXPANSION {
            return false; // already reported: the rest stays unexpanded
        }
        let mut span = item.token.span;
        let (args, hidden) = if definition.params.is_some() {
            let Some((args, close)) = self.arguments(item, pending) else { return false };
            // Nested calls are read once for each level.
            self.count(args.iter().map(Vec::len).sum(), item.token.span);
            span = span.to(close.token.span);
            let Some(args) = self.match_arguments(definition, args, item) else { return true };
            (args, hide(&intersection(&item.hidden, &close.hidden), name))
        } else {
            (Vec::new(), hide(&item.hidden, name))
        };
        let mut body = self.substitute(definition, &args, span);
        self.count(body.len() + 1, item.token.span);
        if *self.produced > MAX_EXPANSION {
            return true;
        }
        if let Some(first) = body.first_mut() {
            first.token.space = item.token.space;
            first.token.first = item.token.first;
        }
        for new in body.into_iter().rev() {
            let hidden = union(&new.hidden, &hidden);
            pending.push(Item { token: PpToken { span, ..new.token }, hidden });
        }
        true
    }

    /// Counts processed tokens; reports an error when the limit is first exceeded.
    fn count(&mut self, tokens: usize, span: Span) {
        let before = *self.produced;
        *self.produced += tokens;
        if before <= MAX_EXPANSION && *self.produced > MAX_EXPANSION {
            self.diagnostics.error(span, Problem::ExpansionTooLarge { limit: MAX_EXPANSION });
        }
    }

    /// The arguments of a call, up to the closing parenthesis; `None` if the name is not followed by arguments.
    fn arguments(&mut self, name: &Item, pending: &mut Vec<Item>) -> Option<(Vec<Vec<Item>>, Item)> {
        let opens = pending.iter().rev().find(|item| item.token.kind != PpKind::Newline);
        if !opens.is_some_and(|item| item.token.is("(")) {
            return None;
        }
        while let Some(item) = pending.pop() {
            if item.token.is("(") {
                break;
            }
        }
        let mut args = vec![Vec::new()];
        let mut depth = 0;
        while let Some(mut item) = pending.pop() {
            match &*item.token.text {
                _ if item.token.kind == PpKind::Newline => {
                    if let Some(next) = pending.last_mut() {
                        next.token.space = true;
                    }
                    continue;
                }
                "(" => depth += 1,
                ")" if depth == 0 => return Some((args, item)),
                ")" => depth -= 1,
                "," if depth == 0 && item.token.kind == PpKind::Punct => {
                    args.push(Vec::new());
                    continue;
                }
                _ => {}
            }
            item.token.first = false;
            args.last_mut().expect("never empty").push(item);
        }
        self.diagnostics.error(name.token.span, Problem::UnterminatedMacroCall { name: name.token.text.clone() });
        None
    }

    /// Matches arguments to the parameters; `None` and a message if their numbers differ.
    fn match_arguments(&mut self, macro_: &Macro, mut args: Vec<Vec<Item>>, name: &Item) -> Option<Vec<Vec<Item>>> {
        let wanted = macro_.params.as_ref().map_or(0, Vec::len);
        if wanted == 0 && args.len() == 1 && args[0].is_empty() {
            args.clear();
        }
        if macro_.variadic && args.len() + 1 == wanted {
            args.push(Vec::new());
        }
        if macro_.variadic && args.len() > wanted {
            let rest = args.split_off(wanted - 1);
            args.push(join_with_commas(rest, name.token.span));
        }
        if args.len() == wanted {
            return Some(args);
        }
        let problem = Problem::MacroArguments { name: name.token.text.clone(), wanted, found: args.len() };
        self.diagnostics.error(name.token.span, problem).label(macro_.span, "defined here");
        None
    }

    /// The body with parameters replaced by arguments, and `#` and `##` executed.
    fn substitute(&mut self, macro_: &Macro, args: &[Vec<Item>], span: Span) -> Vec<Item> {
        let mut result: Vec<Item> = Vec::with_capacity(macro_.body.len());
        let mut tokens = macro_.body.iter().peekable();
        // Each argument is expanded once: otherwise nested calls would take time exponential in their depth.
        let mut expanded: Vec<Option<Vec<Item>>> = vec![None; args.len()];
        let mut paste = false;
        while let Some(token) = tokens.next() {
            if token.is("##") {
                paste = true;
                continue;
            }
            let pastes_next = tokens.peek().is_some_and(|next| next.is("##"));
            let mut new = if token.is("#") && macro_.params.is_some() {
                match tokens.peek().and_then(|next| macro_.param(next)) {
                    Some(param) => {
                        tokens.next();
                        vec![stringify(&args[param], span, token.space)]
                    }
                    None => vec![Item { token: token.clone(), hidden: None }],
                }
            } else if let Some(param) = macro_.param(token) {
                let mut arg = match !paste && !pastes_next {
                    true => expanded[param].get_or_insert_with(|| self.run(args[param].clone())).clone(),
                    false => args[param].clone(),
                };
                if let Some(first) = arg.first_mut() {
                    first.token.space = token.space;
                }
                // GNU: `, ## __VA_ARGS__` without variable arguments drops the comma.
                let drops = arg.is_empty() && paste && macro_.variadic && param + 1 == args.len();
                if drops && result.last().is_some_and(|last| last.token.is(",")) {
                    result.pop();
                } else if macro_.variadic && param + 1 == args.len() && result.last().is_some_and(|l| l.token.is(",")) {
                    paste = false;
                }
                arg
            } else {
                vec![Item { token: token.clone(), hidden: None }]
            };
            if paste
                && !new.is_empty()
                && let Some(left) = result.pop()
            {
                let right = new.remove(0);
                new.splice(0..0, self.paste(left, right, span));
            }
            paste = false;
            result.extend(new);
        }
        result
    }

    /// `left ## right`: one token, or both tokens unchanged and a message if the result is not one token.
    fn paste(&mut self, left: Item, right: Item, span: Span) -> Vec<Item> {
        let text = format!("{}{}", left.token.text, right.token.text);
        let mut quiet = Diagnostics::default();
        let mut tokens = super::lex::lex(span.file, &text, &mut quiet);
        tokens.retain(|token| token.kind != PpKind::Newline);
        match <[PpToken; 1]>::try_from(tokens) {
            Ok([token]) if quiet.is_empty() => {
                let hidden = intersection(&left.hidden, &right.hidden);
                vec![Item { token: PpToken { span, space: left.token.space, first: false, ..token }, hidden }]
            }
            _ => {
                let problem = Problem::BadPaste { left: left.token.text.clone(), right: right.token.text.clone() };
                self.diagnostics.error(span, problem);
                vec![left, right]
            }
        }
    }
}

fn join_with_commas(args: Vec<Vec<Item>>, span: Span) -> Vec<Item> {
    let mut result = Vec::new();
    for (index, arg) in args.into_iter().enumerate() {
        if index > 0 {
            let comma = PpToken { kind: PpKind::Punct, text: ",".into(), span, space: false, first: false };
            result.push(Item { token: comma, hidden: None });
        }
        result.extend(arg);
    }
    result
}

/// `#param`: the argument as a string literal.
fn stringify(arg: &[Item], span: Span, space: bool) -> Item {
    let mut text = String::from('"');
    for (index, item) in arg.iter().enumerate() {
        if index > 0 && item.token.space {
            text.push(' ');
        }
        for c in item.token.text.chars() {
            if item.token.kind == PpKind::Str && (c == '"' || c == '\\') {
                text.push('\\');
            }
            text.push(c);
        }
    }
    text.push('"');
    let token = PpToken { kind: PpKind::Str, text: text.into(), span, space, first: false };
    Item { token, hidden: None }
}
