// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wrong programs: in `tests/err/*.p4`, the end of each wrong line names the diagnostics that are expected there, with
//! their columns.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use marklab_p4::loader::Memory;
use marklab_p4::{Compilation, Options, Problem, compile, compile_with};

use crate::{check_snapshot, compile_text, ids, programs_in, stem};

/// Line, column and id.
type Found = BTreeSet<(usize, usize, String)>;

/// `x = 1 // E0205:3` expects a diagnostic at that column of its line.
fn expected(text: &str) -> Found {
    let lines = text.lines().zip(1..);
    let marked = lines.filter_map(|(line, number)| Some((line.rsplit_once("// ")?.1, number)));
    let marks = marked.flat_map(|(marks, number)| marks.split(' ').map(move |mark| (number, mark)));
    let split = marks.map(|(number, mark)| (number, mark.split_once(':').unwrap_or((mark, ""))));
    let known = split.filter(|(_, (id, _))| Problem::IDS.contains(id));
    let column = |id: &str, text: &str| text.parse().unwrap_or_else(|_| panic!("write the column: `{id}:COLUMN`"));
    known.map(|(number, (id, text))| (number, column(id, text), id.to_string())).collect()
}

fn found(compilation: &Compilation, main: &Path) -> Found {
    let place = |diagnostic: &marklab_p4::Diagnostic| {
        let file = &compilation.sources.file(diagnostic.span.file).path;
        assert_eq!(file, main, "{}", compilation.render(false));
        let (line, column) = compilation.sources.line_column(diagnostic.span);
        (line, column, diagnostic.problem.id().to_string())
    };
    compilation.diagnostics.iter().map(place).collect()
}

#[test]
fn wrong_programs_are_refused_where_they_say() {
    for path in programs_in("err") {
        let text = std::fs::read_to_string(&path).expect("a readable program");
        let compilation = compile(&path, &Options::default());
        assert_eq!(found(&compilation, &path), expected(&text), "{}\n{}", path.display(), compilation.render(false));
        assert_eq!(compilation.program.is_none(), compilation.has_errors(), "{}", path.display());
    }
}

#[test]
fn messages_are_as_reviewed() {
    for path in programs_in("err") {
        check_snapshot("err", &stem(&path), &compile(&path, &Options::default()).render(false));
    }
}

/// Problems that need an unreasonably large program, or no program at all: id, line and column.
fn generated() -> Vec<((&'static str, usize, usize), Compilation)> {
    let parentheses = format!("const int a = {}1{};", "(".repeat(500), ")".repeat(500));
    let many = "#include \"empty.p4\"\n".repeat(4100);
    let files = [("test.p4", many), ("empty.p4", String::new())];
    let loader = Memory(BTreeMap::from(files.map(|(path, text)| (PathBuf::from(path), text))));
    let digits = format!("const int a = {};", "9".repeat(100_000));
    let options = Options::default();
    vec![
        (("E0101", 1, 1), compile(Path::new("tests/no_such_file.p4"), &options)),
        (("E0104", 3997, 10), compile_with(Path::new("test.p4"), &options, &loader)),
        (("E0204", 1, 15), compile_text(&digits)),
        (("E0207", 1, 415), compile_text(&parentheses)),
    ]
}

#[test]
fn limits_are_errors() {
    for ((id, line, column), compilation) in generated() {
        let first = compilation.diagnostics.first().expect("a diagnostic");
        let place = compilation.sources.line_column(first.span);
        assert_eq!((first.problem.id(), place), (id, (line, column)), "{}", compilation.render(false));
    }
}

/// No program should cause an internal error.
const WITHOUT_CASE: &[&str] = &["I0001"];

#[test]
fn every_diagnostic_has_a_case() {
    let mut seen: BTreeSet<&str> = generated().iter().map(|((id, ..), _)| *id).collect();
    for path in programs_in("err") {
        seen.extend(ids(&compile(&path, &Options::default())));
    }
    let missing: Vec<_> = Problem::IDS.iter().filter(|id| !seen.contains(*id) && !WITHOUT_CASE.contains(id)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

#[test]
fn ids_are_unique() {
    let unique: BTreeSet<_> = Problem::IDS.iter().collect();
    assert_eq!(unique.len(), Problem::IDS.len());
}

#[test]
fn colour_is_only_added() {
    let compilation = compile_text("const bit<8> a = b;");
    let coloured = compilation.render(true);
    let mut plain = String::new();
    for (index, part) in coloured.split('\u{1b}').enumerate() {
        plain.push_str(if index == 0 { part } else { part.split_once('m').expect("an escape ends with m").1 });
    }
    assert_ne!(coloured, plain);
    assert_eq!(plain, compilation.render(false));
}

#[test]
fn near_names_are_suggested() {
    let compilation = compile_text("const bit<8> THRESHOLD = 1;\nconst bit<8> a = THRESHLD;");
    assert!(compilation.render(false).contains("`THRESHOLD`"), "{}", compilation.render(false));
}
