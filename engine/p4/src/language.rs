// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an editor asks of a program's source: what each name stands for, and which names may stand at a place.
//!
//! The answers are those of the checker, which notes them on its way ([`names`], [`candidates`]). They exist for broken
//! programs as well, as far as their parts can be understood. Messages come from [`crate::compile_with`].

mod declaration;

use std::io;
use std::path::Path;

use crate::check;
use crate::diagnostics::Diagnostics;
use crate::loader::Loader;
pub use crate::named::{Candidate, Role, Use};
use crate::source::SourceMap;
pub use declaration::{Declaration, declaration};

use crate::{Options, lexer, on_large_stack, parser, preprocess};

/// The names of a program, and its files.
#[derive(Clone, Debug)]
pub struct Names {
    /// All files that were read.
    pub sources: SourceMap,
    /// Names of all files, in the order in which they were understood.
    pub uses: Vec<Use>,
}

/// The text of an interface that comes with the front end (`p4include/v1model.p4`), which no disk has.
pub fn interface(path: &Path) -> Option<&'static str> {
    preprocess::builtin(path)
}

/// What the names of a program stand for.
pub fn names(main: &Path, options: &Options, loader: &(dyn Loader + Sync)) -> Names {
    on_large_stack(|| {
        let (sources, notes) = read(main, options, loader, None);
        Names { sources, uses: notes.uses }
    })
}

/// The names that may stand at byte `offset` of the main file, whose text is `text`, with the files that declare them. A
/// part of a name that is there already is taken as replaced, and does not restrict the candidates.
///
/// The place need not be complete: what a statement lacks is tried.
pub fn candidates(
    main: &Path,
    (text, offset): (&str, usize),
    options: &Options,
    loader: &(dyn Loader + Sync),
) -> (SourceMap, Vec<Candidate>) {
    /// A name that no program has.
    const PROBE: &str = "name_at_the_cursor__";
    /// What may lack behind it. As a call it can be a statement.
    const COMPLETIONS: [&str; 6] = ["", ";", "();", "()", ");", "; }"];
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let offset = text.floor_char_boundary(offset);
    let start = text[..offset].trim_end_matches(is_part).len();
    let rest = text[offset..].trim_start_matches(is_part);
    on_large_stack(|| {
        let mut last = None;
        for completion in COMPLETIONS {
            let edited = format!("{}{PROBE}{completion}{rest}", &text[..start]);
            let loader = Edited { path: main, text: &edited, rest: loader };
            let (sources, notes) = read(main, options, &loader, Some(PROBE));
            if let Some(found) = notes.candidates {
                return (sources, found);
            }
            last = Some((sources, notes.global));
        }
        last.unwrap_or_default()
    })
}

fn read(
    main: &Path,
    options: &Options,
    loader: &(dyn Loader + Sync),
    probe: Option<&str>,
) -> (SourceMap, check::Notes) {
    let mut sources = SourceMap::default();
    // What is wrong is reported elsewhere.
    let mut unread = Diagnostics::default();
    let (_, words) = preprocess::preprocess(main, options, loader, &mut sources, &mut unread);
    let tokens = lexer::lex(&words, &mut unread);
    let decls = parser::parse(&tokens, &mut unread);
    (sources, check::notes(&decls, &tokens, probe, &mut unread))
}

/// Files of which one is replaced, as an editor has it that has not saved it yet.
#[derive(Clone, Copy)]
pub struct Edited<'a> {
    /// The replaced file.
    pub path: &'a Path,
    /// Its text.
    pub text: &'a str,
    /// All others.
    pub rest: &'a (dyn Loader + Sync),
}

impl Loader for Edited<'_> {
    fn load(&self, path: &Path) -> io::Result<String> {
        if path == self.path { Ok(self.text.to_string()) } else { self.rest.load(path) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::Memory;

    const PROGRAM: &str = "\
enum Fruit { Apple, Pear }
struct pair { bit<8> left; bit<16> right; }
extern Cell { Cell(); void put(in pair value); }
control c(inout pair both) {
    Cell() cell;
    action swap(bit<8> by) { both.left = by; }
    table t { actions = { swap; } }
    apply { t.apply(); cell.put(both); }
}
";

    /// The line and column of the declaration of the name at the n-th occurrence of a text.
    fn declared(pattern: &str, skip: usize) -> Option<(usize, usize, Role)> {
        let found = names(Path::new("a.p4"), &Options::default(), &Memory::single("a.p4", PROGRAM));
        let at = PROGRAM.match_indices(pattern).nth(skip).expect("it is there").0 as u32;
        let used = found.uses.iter().find(|used| used.name.start == at)?;
        let (line, column) = found.sources.line_column(used.declaration?);
        Some((line, column, used.role))
    }

    #[test]
    fn names_lead_to_their_declarations() {
        assert_eq!(declared("pair both", 0), Some((2, 8, Role::Type)));
        assert_eq!(declared("left = ", 0), Some((2, 22, Role::Field)));
        assert_eq!(declared("both.left", 0), Some((4, 22, Role::Parameter)));
        assert_eq!(declared("by; }", 0), Some((6, 24, Role::Parameter)));
        assert_eq!(declared("swap; }", 0), Some((6, 12, Role::Action)));
        assert_eq!(declared("t.apply", 0), Some((7, 11, Role::Table)));
        assert_eq!(declared("put(both", 0), Some((3, 28, Role::Method)));
        assert_eq!(declared("swap(bit", 0), Some((6, 12, Role::Action)));
    }

    fn offered(before: &str, insert: &str) -> Vec<String> {
        let at = PROGRAM.find(before).expect("it is there");
        let text = format!("{}{insert}{}", &PROGRAM[..at], &PROGRAM[at..]);
        let place = (&*text, at + insert.len());
        let (_, found) = candidates(Path::new("a.p4"), place, &Options::default(), &Memory::single("a.p4", &text));
        found.into_iter().map(|candidate| candidate.name).collect()
    }

    #[test]
    fn members_are_offered_in_unfinished_statements() {
        assert_eq!(offered("t.apply", "both."), ["left", "right"]);
        assert_eq!(offered("t.apply", "both.left = both.ri"), ["left", "right"]);
        assert_eq!(offered("t.apply", "cell."), ["put"]);
        assert_eq!(offered("t.apply", "if (t.apply()."), ["hit", "miss", "action_run"]);
        assert_eq!(offered("t.apply", "if (Fruit."), ["Apple", "Pear"]);
    }

    #[test]
    fn what_is_visible_is_offered() {
        let names = offered("t.apply", "both.left = b");
        for name in ["both", "swap", "t", "cell", "pair", "Fruit"] {
            assert!(names.iter().any(|known| known == name), "{name} of {names:?}");
        }
        assert!(names.iter().all(|name| name != "by"), "a parameter of an action is not visible outside it");
        assert!(offered("both.left = by", "both.left = ").contains(&"by".to_string()));
    }

    #[test]
    fn a_place_that_cannot_be_understood_has_the_globals() {
        let names = offered("struct pair", "contr");
        assert!(names.contains(&"Fruit".to_string()));
    }
}
