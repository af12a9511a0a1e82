// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C preprocessor, as far as programs use it (C11 6.10; `cpp -undef -nostdinc -x assembler-with-cpp`, which is
//! what p4c runs).
//!
//! This replaces the system's `cpp`, so that every token keeps its position in the source. Tokens from a macro have the
//! position of the macro's use. Unknown directives are skipped, as in p4c's lexer.

mod condition;
pub(crate) mod lex;
mod macros;

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use crate::Options;
use crate::diagnostics::{Diagnostics, Problem};
use crate::loader::Loader;
use crate::source::{FileId, SourceMap, Span};
use crate::token::Name;

use lex::{PpKind, PpToken};
use macros::{Expander, Macro};

/// Maximum nesting of includes, as in GNU cpp.
const MAX_INCLUDE_DEPTH: usize = 200;
/// Maximum number of files in one compilation: files that include each other twice would double at each level.
const MAX_FILES: usize = 4_000;

/// The interfaces that come with the front end.
const BUILTIN: [(&str, &str); 5] = [
    ("core.p4", include_str!("../p4include/core.p4")),
    ("v1model.p4", include_str!("../p4include/v1model.p4")),
    ("tofino.p4", include_str!("../p4include/tofino.p4")),
    ("tna.p4", include_str!("../p4include/tna.p4")),
    ("t2na.p4", include_str!("../p4include/t2na.p4")),
];
/// Folder that messages show for the built-in files.
const BUILTIN_FOLDER: &str = "p4include";

/// The text of an interface that comes with the front end, by the path that messages show for it.
pub(crate) fn builtin(path: &Path) -> Option<&'static str> {
    let name = path.strip_prefix(BUILTIN_FOLDER).ok()?.to_str()?;
    BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Preprocesses a program into tokens without newlines. Also returns the id of its main file.
pub(crate) fn preprocess(
    main: &Path,
    options: &Options,
    loader: &dyn Loader,
    sources: &mut SourceMap,
    diagnostics: &mut Diagnostics,
) -> (FileId, Vec<PpToken>) {
    let mut preprocessor = Preprocessor {
        options,
        loader,
        sources,
        diagnostics,
        macros: FxHashMap::default(),
        output: Vec::new(),
        produced: 0,
        counter: 0,
        line_shift: Vec::new(),
        too_many: false,
    };
    preprocessor.predefine();
    let file = FileId(preprocessor.sources.files().len() as u32);
    match loader.load(main) {
        Ok(text) => preprocessor.file(main.to_path_buf(), text, 0),
        Err(error) => {
            preprocessor.sources.add(main.to_path_buf(), String::new());
            let span = Span { file, start: 0, end: 0 };
            preprocessor.diagnostics.error(span, Problem::CannotRead { path: show(main), reason: error.to_string() });
        }
    }
    (file, preprocessor.output)
}

fn show(path: &Path) -> String {
    path.display().to_string()
}

struct Preprocessor<'a> {
    options: &'a Options,
    loader: &'a dyn Loader,
    sources: &'a mut SourceMap,
    diagnostics: &'a mut Diagnostics,
    macros: FxHashMap<Name, Macro>,
    output: Vec<PpToken>,
    produced: usize,
    counter: usize,
    /// For files with `#line`: the offset of the line number, by file.
    line_shift: Vec<(FileId, i64)>,
    /// Whether a limit of includes was reached: further includes are ignored.
    too_many: bool,
}

/// One open `#if`.
struct Conditional {
    /// The `#if`, for messages.
    span: Span,
    /// Whether the lines of the current branch are compiled.
    active: bool,
    /// Whether a branch was taken, which excludes all later ones.
    taken: bool,
    /// Whether the `#if` itself is in lines that are compiled.
    live: bool,
    /// Whether there was an `#else`.
    closed: bool,
}

impl Preprocessor<'_> {
    /// p4c-bm2-ss defines `__TARGET_BMV2__`; cpp defines the others even with `-undef`.
    fn predefine(&mut self) {
        let defined = [("__TARGET_BMV2__", "1"), ("__STDC__", "1"), ("__STDC_HOSTED__", "1"), ("__ASSEMBLER__", "1")];
        for (name, value) in defined {
            self.define_text(name, value);
        }
        for (name, value) in &self.options.defines {
            self.define_text(name, value);
        }
    }

    fn define_text(&mut self, name: &str, value: &str) {
        let file = self.sources.add("<command line>".into(), format!("{name} {value}\n"));
        let text = self.sources.file(file).text.clone();
        let mut tokens = lex::lex(file, &text, self.diagnostics);
        tokens.retain(|token| token.kind != PpKind::Newline);
        let span = tokens.first().map_or(Span { file, start: 0, end: 0 }, |name| name.span);
        self.define(&tokens, span);
    }

    fn file(&mut self, path: PathBuf, text: String, depth: usize) {
        let file = self.sources.add(path, text);
        let text = self.sources.file(file).text.clone();
        let tokens = lex::lex(file, &text, self.diagnostics);
        let mut conditionals: Vec<Conditional> = Vec::new();
        let mut run: Vec<PpToken> = Vec::new();
        for line in tokens.split_inclusive(|token| token.kind == PpKind::Newline) {
            let active = conditionals.last().is_none_or(|conditional| conditional.active);
            let Some(directive) = line.strip_prefix_hash() else {
                if active {
                    run.extend_from_slice(line);
                }
                continue;
            };
            self.flush(&mut run);
            self.directive(directive, active, &mut conditionals, file, depth);
        }
        self.flush(&mut run);
        for open in conditionals {
            self.diagnostics.error(open.span, Problem::UnterminatedIf {});
        }
    }

    /// Expands the text collected since the last directive.
    fn flush(&mut self, run: &mut Vec<PpToken>) {
        if run.is_empty() {
            return;
        }
        let tokens = self.expand(std::mem::take(run));
        self.output.extend(tokens.into_iter().filter(|token| token.kind != PpKind::Newline));
    }

    fn expand(&mut self, tokens: Vec<PpToken>) -> Vec<PpToken> {
        let (sources, counter, shifts) = (&*self.sources, &mut self.counter, &self.line_shift);
        let mut dynamic = |name: &str, span: Span| {
            let (kind, text) = match name {
                "__LINE__" => {
                    let shift = shifts.iter().rev().find(|(file, _)| *file == span.file).map_or(0, |(_, shift)| *shift);
                    (PpKind::Number, (sources.line_column(span).0 as i64 + shift).to_string())
                }
                "__FILE__" => (PpKind::Str, format!("{:?}", sources.file(span.file).path.display().to_string())),
                "__COUNTER__" => {
                    *counter += 1;
                    (PpKind::Number, (*counter - 1).to_string())
                }
                _ => return None,
            };
            Some(PpToken { kind, text: text.into(), span, space: false, first: false })
        };
        let mut expander = Expander {
            macros: &self.macros,
            diagnostics: self.diagnostics,
            produced: &mut self.produced,
            dynamic: &mut dynamic,
        };
        expander.expand(tokens)
    }

    /// Executes a directive. `line` is what follows the `#`, up to the newline.
    fn directive(
        &mut self,
        line: &[PpToken],
        active: bool,
        conditionals: &mut Vec<Conditional>,
        file: FileId,
        depth: usize,
    ) {
        let line = &line[..line.len() - 1];
        let Some((name, rest)) = line.split_first() else { return };
        match &*name.text {
            "if" | "ifdef" | "ifndef" => {
                let taken = active && self.condition(name, rest);
                conditionals.push(Conditional { span: name.span, active: taken, taken, live: active, closed: false });
            }
            "elif" | "else" => self.branch(name, rest, conditionals),
            "endif" => match conditionals.pop() {
                Some(_) => {}
                None => self.diagnostics.error(name.span, Problem::NoIf { directive: name.text.clone() }).done(),
            },
            _ if !active => {}
            "define" => self.define(rest, name.span),
            "undef" => match rest {
                [macro_, ..] if macro_.kind == PpKind::Ident => _ = self.macros.remove(&macro_.text),
                _ => self.diagnostics.error(name.span, Problem::MacroName {}).done(),
            },
            "include" => self.include(name.span, rest, file, depth),
            "line" => self.line(name.span, rest),
            "error" | "warning" => {
                let text = join(rest);
                let problem = match &*name.text {
                    "error" => Problem::ErrorDirective { text },
                    _ => Problem::WarningDirective { text },
                };
                self.diagnostics.report(name.span, problem);
            }
            _ => {}
        }
    }

    /// The condition of `#if`, `#ifdef`, `#ifndef` or `#elif`.
    fn condition(&mut self, name: &PpToken, rest: &[PpToken]) -> bool {
        if &*name.text == "if" || &*name.text == "elif" {
            let errors = self.diagnostics.errors();
            let result = self.replace_defined(rest, name.span).and_then(|tokens| {
                let tokens = self.expand(tokens);
                if self.diagnostics.errors() > errors {
                    return Ok(false);
                }
                condition::evaluate(&tokens, name.span)
            });
            return result.unwrap_or_else(|(span, problem)| {
                self.diagnostics.error(span, problem);
                false
            });
        }
        match rest {
            [macro_, ..] if macro_.kind == PpKind::Ident => self.is_defined(&macro_.text) == (&*name.text == "ifdef"),
            _ => {
                self.diagnostics.error(name.span, Problem::MacroName {});
                false
            }
        }
    }

    fn is_defined(&self, name: &str) -> bool {
        self.macros.contains_key(name) || matches!(name, "__LINE__" | "__FILE__" | "__COUNTER__")
    }

    /// Replaces `defined X` and `defined(X)` by 0 or 1.
    fn replace_defined(&self, tokens: &[PpToken], span: Span) -> Result<Vec<PpToken>, (Span, Problem)> {
        let mut result = Vec::with_capacity(tokens.len());
        let mut rest = tokens;
        while let Some((token, tail)) = rest.split_first() {
            rest = tail;
            if token.kind != PpKind::Ident || &*token.text != "defined" {
                result.push(token.clone());
                continue;
            }
            let (name, after) = match rest {
                [open, name, close, after @ ..] if open.is("(") && close.is(")") => (name, after),
                [name, after @ ..] => (name, after),
                [] => return Err((span, Problem::MacroName {})),
            };
            if name.kind != PpKind::Ident {
                return Err((name.span, Problem::MacroName {}));
            }
            rest = after;
            let text = if self.is_defined(&name.text) { "1" } else { "0" };
            result.push(PpToken { kind: PpKind::Number, text: text.into(), ..token.clone() });
        }
        Ok(result)
    }

    fn branch(&mut self, name: &PpToken, rest: &[PpToken], conditionals: &mut [Conditional]) {
        let Some(open) = conditionals.last_mut() else {
            self.diagnostics.error(name.span, Problem::NoIf { directive: name.text.clone() });
            return;
        };
        if open.closed {
            let problem = Problem::AfterElse { directive: name.text.clone() };
            self.diagnostics.error(name.span, problem).label(open.span, "the condition starts here");
        }
        let is_else = &*name.text == "else";
        open.closed |= is_else;
        open.active = open.live && !open.taken && (is_else || self.condition(name, rest));
        open.taken |= open.active;
    }

    fn define(&mut self, rest: &[PpToken], span: Span) {
        let Some((name, body)) = rest.split_first().filter(|(name, _)| name.kind == PpKind::Ident) else {
            self.diagnostics.error(span, Problem::MacroName {});
            return;
        };
        match Macro::parse(body, name.span) {
            Err((span, problem)) => self.diagnostics.error(span, problem).done(),
            Ok(_) if &*name.text == "defined" => self.diagnostics.error(name.span, Problem::MacroName {}).done(),
            Ok(new) => {
                if let Some(old) = self.macros.get(&name.text)
                    && !old.same_as(&new)
                {
                    let problem = Problem::MacroRedefined { name: name.text.clone() };
                    self.diagnostics.warning(name.span, problem).label(old.span, "first defined here");
                }
                self.macros.insert(name.text.clone(), new);
            }
        }
    }

    fn include(&mut self, span: Span, rest: &[PpToken], file: FileId, depth: usize) {
        let expanded;
        let rest = match rest.first() {
            Some(first) if first.kind == PpKind::Ident => {
                expanded = self.expand(rest.to_vec());
                &expanded
            }
            _ => rest,
        };
        let span = rest.first().zip(rest.last()).map_or(span, |(first, last)| first.span.to(last.span));
        let (name, quoted) = match rest {
            [name, ..] if name.kind == PpKind::Str => (name.text.trim_matches('"').to_string(), true),
            [open, inner @ .., close] if open.is("<") && close.is(">") => (join_exactly(inner), false),
            _ => return self.diagnostics.error(span, Problem::BadInclude {}).done(),
        };
        let limit = match () {
            () if self.too_many => return,
            () if depth + 1 > MAX_INCLUDE_DEPTH => Problem::IncludeTooDeep { limit: MAX_INCLUDE_DEPTH },
            () if self.sources.files().len() > MAX_FILES => Problem::TooManyFiles { limit: MAX_FILES },
            () => return self.open(&name, quoted, span, file, depth),
        };
        self.too_many = true;
        self.diagnostics.error(span, limit).help("if a file includes itself, guard it with `#ifndef NAME_P4`");
    }

    fn open(&mut self, name: &str, quoted: bool, span: Span, file: FileId, depth: usize) {
        match self.find(name, quoted, file) {
            Ok((path, text)) => self.file(path, text, depth + 1),
            Err(reason) => self.diagnostics.error(span, Problem::CannotInclude { name: name.into(), reason }).done(),
        }
    }

    /// Finds a file: beside the including one (`"..."` only), in the include folders, then among the built-in ones.
    fn find(&self, name: &str, quoted: bool, from: FileId) -> Result<(PathBuf, String), String> {
        let here = self.sources.file(from).path.parent().map(Path::to_path_buf);
        let folders = here.into_iter().filter(|_| quoted).chain(self.options.include_dirs.iter().cloned());
        for folder in folders {
            let path = folder.join(name);
            match self.loader.load(&path) {
                Ok(text) => return Ok((path, text)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(format!("{}: {error}", show(&path))),
            }
        }
        match BUILTIN.iter().find(|(builtin, _)| *builtin == name) {
            Some((_, text)) => Ok((Path::new(BUILTIN_FOLDER).join(name), (*text).to_string())),
            None => Err("no such file in the include folders".into()),
        }
    }

    /// `#line N "file"` changes only `__LINE__`: messages use the lines of the file.
    fn line(&mut self, span: Span, rest: &[PpToken]) {
        let rest = self.expand(rest.to_vec());
        let number = rest.first().filter(|token| token.kind == PpKind::Number);
        match number.and_then(|token| token.text.parse::<i32>().ok()) {
            Some(line) => {
                let here = self.sources.line_column(span).0 as i64;
                self.line_shift.push((span.file, i64::from(line) - here - 1));
            }
            None => self.diagnostics.error(span, Problem::BadLine {}).done(),
        }
    }
}

/// The text of a directive's operand, with white space as single blanks.
fn join(tokens: &[PpToken]) -> String {
    let mut text = String::new();
    for token in tokens {
        if token.space && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&token.text);
    }
    text
}

fn join_exactly(tokens: &[PpToken]) -> String {
    tokens.iter().map(|token| &*token.text).collect()
}

trait Line {
    /// The tokens after the `#` of a directive.
    fn strip_prefix_hash(&self) -> Option<&Self>;
}

impl Line for [PpToken] {
    fn strip_prefix_hash(&self) -> Option<&[PpToken]> {
        let (first, rest) = self.split_first()?;
        (first.is("#") && first.first).then_some(rest)
    }
}
