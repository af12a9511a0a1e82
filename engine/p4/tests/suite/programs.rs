// SPDX-License-Identifier: MIT OR Apache-2.0
//! Correct programs: those of `tests/ok` and the schemes compile without a message.

use std::path::Path;

use marklab_p4::ir::Program;
use marklab_p4::{Options, compile, compile_with};

use crate::{Beside, check_snapshot, programs_in, programs_of, stem};

/// Compiles a program that must give no message.
#[track_caller]
fn compile_cleanly(path: &Path, options: &Options) -> Program {
    let compilation = compile(path, options);
    assert!(compilation.diagnostics.is_empty(), "{}", compilation.render(false));
    compilation.program.expect("a program without errors is compiled")
}

/// The text of the IR has one line per statement: a change in it is a change for the engines.
#[test]
fn the_ir_is_as_reviewed() {
    for path in programs_in("ok") {
        let text = compile_cleanly(&path, &Options::default()).to_string();
        // The architecture's metadata are the same in every program, so only one snapshot shows them.
        let is_standard = |line: &str| line.starts_with("slot standard_metadata.") || line.starts_with("intrinsic ");
        let shown = text.lines().filter(|line| path.ends_with("router.p4") || !is_standard(line));
        check_snapshot("ok", &stem(&path), &shown.collect::<Vec<_>>().join("\n"));
    }
}

#[test]
fn every_scheme_compiles() {
    for folder in ["v1model", "tna"] {
        for path in programs_of(&Path::new("../../p4src").join(folder)) {
            compile_cleanly(&path, &Options::default());
        }
    }
}

#[test]
fn the_same_text_gives_the_same_program() {
    for path in programs_in("ok") {
        let [first, second] = [(); 2].map(|()| compile(&path, &Options::default()));
        assert_eq!(first.digest, second.digest, "{}", path.display());
        assert!(first.program == second.program, "{}", path.display());
    }
}

/// A comment or a line break never changes a program.
#[test]
fn white_space_has_no_meaning() {
    for path in programs_in("ok") {
        let text = std::fs::read_to_string(&path).expect("a readable program");
        if text.contains("__LINE__") {
            continue; // its result depends on line numbers
        }
        // Directives, pragmas and comments end with their lines, strings may hold anything.
        let keeps = |line: &str| ["#", "\\", "@", "\"", "//", "/*"].iter().any(|mark| line.contains(mark));
        let lines = text.split_inclusive('\n').map(|line| match keeps(line) {
            true => line.to_string(),
            false => line.replace(' ', " /* a\n comment */ "),
        });
        let text = lines.collect();
        let widened = compile_with(&path, &Options::default(), &Beside { path: &path, text });
        assert!(widened.diagnostics.is_empty(), "{}", widened.render(false));
        assert_eq!(widened.digest, compile(&path, &Options::default()).digest, "{}", path.display());
    }
}
