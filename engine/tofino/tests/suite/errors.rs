// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that Tofino cannot run, and programs that it can.

use std::collections::BTreeSet;
use std::path::Path;

use marklab_tofino::limit::Limit;

use crate::{examine, programs_in, render};

/// Ids of limits that comments expect, with their lines: `x = 1 // E1003` expects E1003 at this line.
fn expected(text: &str) -> BTreeSet<(usize, String)> {
    let lines = text.lines().zip(1..);
    let marked = lines.filter_map(|(line, number)| Some((line.rsplit_once("// ")?.1, number)));
    let marks = marked.flat_map(|(marks, number)| marks.split(' ').map(move |mark| (number, mark.to_string())));
    marks.filter(|(_, mark)| Limit::IDS.contains(&&**mark)).collect()
}

#[test]
fn what_tofino_cannot_do_is_refused_where_it_is_written() {
    for path in programs_in("err") {
        let text = std::fs::read_to_string(&path).expect("a readable program");
        let (compilation, found) = examine(&path);
        let place = |span| compilation.sources.line_column(span).0;
        let found_at = found.iter().map(|one| (place(one.span), one.problem.id().to_string())).collect();
        assert_eq!(expected(&text), found_at, "{}\n{}", path.display(), render(&compilation, &found));
    }
}

#[test]
fn messages_are_as_reviewed() {
    for path in programs_in("err") {
        let (compilation, found) = examine(&path);
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(Path::new("../err"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let name = path.file_stem().expect("a program has a name").to_string_lossy().into_owned();
        settings.bind(|| insta::assert_snapshot!(name, render(&compilation, &found)));
    }
}

#[test]
fn what_tofino_can_do_passes() {
    for path in programs_in("ok") {
        let (compilation, found) = examine(&path);
        assert!(found.is_empty(), "{}\n{}", path.display(), render(&compilation, &found));
    }
}

#[test]
fn every_limit_has_a_case() {
    let mut seen = BTreeSet::new();
    for path in programs_in("err") {
        seen.extend(examine(&path).1.iter().map(|one| one.problem.id()));
    }
    let missing: Vec<_> = Limit::IDS.iter().filter(|id| !seen.contains(*id)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}
