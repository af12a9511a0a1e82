// SPDX-License-Identifier: MIT OR Apache-2.0
//! The checks, tested from outside.
//!
//! In programs of `tests/err`, a comment behind each wrong line has the ids of the limits that it breaks; programs in
//! `tests/ok` break none. Texts of the messages are insta snapshots beside the programs (`INSTA_UPDATE=always cargo
//! test`).

mod corpus;
mod errors;
mod estimate;

use std::path::{Path, PathBuf};

use marklab_p4::{Compilation, Diagnostic, Options, compile};
use marklab_tofino::limit::Limit;

/// The programs of a folder of `tests`, by name.
fn programs_in(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(Path::new("tests").join(folder)).expect("tests run in the folder of their crate");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "p4"));
    paths.sort();
    assert!(!paths.is_empty(), "no programs in {folder}");
    paths
}

/// Compiles and checks a program of a folder.
fn examine(path: &Path) -> (Compilation, Vec<Diagnostic<Limit>>) {
    let options = Options { include_dirs: vec!["tests/include".into()], defines: Vec::new() };
    let compilation = compile(path, &options);
    let program = compilation.program.as_ref().unwrap_or_else(|| panic!("{}", compilation.render(false)));
    let found = marklab_tofino::examine(program, &compilation.sources).expect("a TNA program").diagnostics;
    (compilation, found)
}

fn render(compilation: &Compilation, found: &[Diagnostic<Limit>]) -> String {
    found.iter().map(|diagnostic| diagnostic.render(&compilation.sources, false)).collect()
}

/// Prints that a test is skipped, and why.
#[expect(clippy::print_stderr, reason = "a test that does not run says so")]
fn skip(why: &str) {
    eprintln!("skipped: {why}");
}
