// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the front end from outside.
//!
//! `errors` and `programs` walk `tests/err` and `tests/ok`; their expected texts are insta snapshots beside the programs
//! (`cargo insta review`, or `INSTA_UPDATE=always cargo test`). `corpus` compiles p4c's test programs and p4lang's
//! tutorials, if `P4C_CHECKOUT` and `P4_TUTORIALS` name checkouts of them.

mod control_plane;
mod corpus;
mod errors;
mod preprocessor;
mod programs;
mod robustness;

use std::path::{Path, PathBuf};

use marklab_p4::loader::{Disk, Loader, Memory};
use marklab_p4::{Compilation, Options, compile_with};

/// The programs of a folder of `tests`, by name.
fn programs_in(folder: &str) -> Vec<PathBuf> {
    programs_of(&Path::new("tests").join(folder))
}

/// The programs in a folder, by name.
fn programs_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("tests run in the folder of their crate");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "p4"));
    paths.sort();
    assert!(!paths.is_empty(), "no programs in {}", folder.display());
    paths
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a program has a name").to_string_lossy().into_owned()
}

/// Reports that a test is skipped.
#[expect(clippy::print_stderr, reason = "a test that does not run says so")]
fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// Compiles a text.
fn compile_text(text: &str) -> Compilation {
    compile_with(Path::new("test.p4"), &Options::default(), &Memory::single("test.p4", text))
}

fn ids(compilation: &Compilation) -> Vec<&'static str> {
    compilation.diagnostics.iter().map(|diagnostic| diagnostic.problem.id()).collect()
}

/// Compares a text with the snapshot beside the program.
fn check_snapshot(folder: &str, name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new("..").join(folder));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// One file with a different text, the others from disk.
struct Beside<'a> {
    path: &'a Path,
    text: String,
}

impl Loader for Beside<'_> {
    fn load(&self, path: &Path) -> std::io::Result<String> {
        match path == self.path {
            true => Ok(self.text.clone()),
            false => Disk.load(path),
        }
    }
}
