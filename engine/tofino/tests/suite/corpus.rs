// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that p4c compiles for Tofino: none may be refused.
//!
//! `P4C_CHECKOUT=<folder>` runs the programs of p4testgen's Tofino target, `OPEN_P4STUDIO=<folder>` the examples of
//! open-p4studio. Programs that the front end does not compile are left out.

use std::path::{Path, PathBuf};

use marklab_p4::diagnostics::Category;
use marklab_p4::{Options, compile};

use crate::{render, skip};

const OF_P4TESTGEN: &str = "backends/p4tools/modules/testgen/targets/tofino/test/p4-programs";
const OF_P4STUDIO: &str = "pkgsrc/p4-examples/p4_16_programs";

/// Programs that are refused for a reason. They are for p4testgen, which does not place them in stages.
const REFUSED: &[&str] = &[
    "tna_extract_emit_8.p4",    // extracts a header five times
    "tna_register_action_1.p4", // writes a register, and reads it again
    "tna_simple_switch.p4",     // parses 236 bytes in egress
];

fn programs_under(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("a readable folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            programs_under(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "p4") {
            found.push(path);
        }
    }
}

/// Examines all programs under a folder of a checkout, of which at least `at_least` must be for Tofino.
fn none_is_refused(variable: &str, folder: &str, at_least: usize) {
    let Ok(checkout) = std::env::var(variable) else {
        return skip(&format!("needs {variable}, which names no checkout"));
    };
    let folder = Path::new(&checkout).join(folder);
    let mut programs = Vec::new();
    programs_under(&folder, &mut programs);
    let (mut seen, mut refused) = (0, Vec::new());
    for path in programs {
        let text = path.to_string_lossy();
        let chip = if text.contains("tofino2") || text.contains("t2na") { "2" } else { "1" };
        let options = Options {
            include_dirs: vec![folder.clone(), folder.join("common")],
            defines: vec![("__TARGET_TOFINO__".into(), chip.into())],
        };
        let compilation = compile(&path, &options);
        let Some(program) = &compilation.program else { continue };
        let Some(examined) = marklab_tofino::examine(program, &compilation.sources) else { continue };
        let mut found = examined.diagnostics;
        found.retain(|one| one.category() == Category::Error);
        seen += 1;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !found.is_empty() && !REFUSED.contains(&&*name) {
            refused.push(render(&compilation, &found));
        }
    }
    assert!(seen >= at_least, "{seen} programs of {}", folder.display());
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn no_program_of_p4testgen_is_refused() {
    none_is_refused("P4C_CHECKOUT", OF_P4TESTGEN, 40);
}

#[test]
fn no_example_of_p4studio_is_refused() {
    none_is_refused("OPEN_P4STUDIO", OF_P4STUDIO, 25);
}
