// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs of others: p4lang's tutorials and the test programs of p4c, if checkouts of them are available
//! (`P4_TUTORIALS`, `P4C_CHECKOUT`). p4c's list of programs that its BMv2 back end refuses is also the list for us.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use marklab_p4::{Options, compile};

use crate::{ids, programs_of, skip};

/// Refused by p4c's back end because of limits of its own checks or of the target; valid for us.
const MORE_THAN_P4C: &[&str] = &[
    "issue1062-bmv2.p4", // a key of type `error`
    "issue986-bmv2.p4",  // a table graph that BMv2's JSON cannot express
];

/// Accepted by p4c, and by us with a warning.
const LESS_THAN_P4C: &[&str] = &[
    "extern-funcs-bmv2.p4", // an extern of the program's own, which p4c accepts with a special option
];

/// Programs that use v1model, but test only p4c's front end: its BMv2 back end refuses them, and we warn.
const NOT_FOR_BMV2: &[&str] = &[
    "issue3091.p4",    // an extern function of its own
    "issue841.p4",     // an extern that BMv2 lacks
    "issue887.p4",     // an `if` in the deparser
    "next-def-use.p4", // assigns to `next` of a stack
];

/// Samples that both p4c's BMv2 back end and we refuse.
const REFUSED: &[&str] = &[
    "bitwise-and.p4",         // no `main`
    "issue1304.p4",           // a package of its own
    "issue1524.p4",           // no `main`
    "issue2735.p4",           // no `main`
    "issue3225.p4",           // a header of 3 bits
    "issue3394.p4",           // the headers are one header, not a struct
    "issue407-2.p4",          // no `main`
    "issue407-3.p4",          // no `main`
    "issue907-bmv2.p4",       // a register of structs
    "parser-unroll-test3.p4", // a number among the headers, and headers of 17 bits
    "parser-unroll-test4.p4", // likewise
    "parser-unroll-test5.p4", // likewise
];

/// Refused by p4c without the option that leaves a program's own externs to a plug-in of BMv2.
const TAKEN_UNDER_AN_OPTION: &[&str] = &["no-externs-bmv2.p4"];

/// Warnings about constructs that p4c refuses.
const BEYOND_P4C: [&str; 2] = ["W0702", "W0703"];

fn checkout(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    if path.is_none() {
        skip(&format!("needs {variable}, which names no checkout"));
    }
    path
}

fn accepts(path: &Path) -> bool {
    !compile(path, &Options::default()).has_errors()
}

/// Whether a program is accepted, without constructs that p4c refuses.
fn accepts_as_portable(path: &Path) -> bool {
    let compilation = compile(path, &Options::default());
    !compilation.has_errors() && !ids(&compilation).iter().any(|id| BEYOND_P4C.contains(id))
}

fn name(path: &Path) -> String {
    path.file_name().expect("a program has a name").to_string_lossy().into_owned()
}

fn is_v1model(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|text| String::from_utf8_lossy(&text).contains("v1model.p4"))
}

/// Names of the programs that pass a test.
fn names_of(paths: &[PathBuf], test: impl Fn(&Path) -> bool) -> BTreeSet<String> {
    paths.iter().filter(|path| test(path)).map(|path| name(path)).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn tutorials_compile_unchanged() {
    let Some(tutorials) = checkout("P4_TUTORIALS") else { return };
    let exercises = std::fs::read_dir(tutorials.join("exercises")).expect("a checkout of the tutorials");
    let folders = exercises.map(|entry| entry.expect("a readable folder").path().join("solution"));
    let solutions: Vec<PathBuf> = folders.filter(|folder| folder.is_dir()).flat_map(|dir| programs_of(&dir)).collect();
    assert!(solutions.len() >= 10, "{solutions:?}");
    assert_eq!(names_of(&solutions, |path| !accepts_as_portable(path)), BTreeSet::new());
}

/// p4c compiles its `*-bmv2.p4` for BMv2, except those on a list in its build file.
#[test]
fn what_p4c_compiles_for_bmv2_is_accepted_as_portable() {
    let Some(p4c) = checkout("P4C_CHECKOUT") else { return };
    let build = std::fs::read_to_string(p4c.join("backends/bmv2/CMakeLists.txt")).expect("a checkout of p4c");
    let listed = build.split_once("set (XFAIL_TESTS").and_then(|(_, rest)| rest.split_once("\n)")).expect("a list").0;
    let mut programs = programs_of(&p4c.join("testdata/p4_16_samples"));
    programs.retain(|path| name(path).ends_with("-bmv2.p4") && is_v1model(path));
    let beyond = names_of(&programs, |path| !accepts_as_portable(path));
    let expected_failures = programs.iter().map(|path| name(path)).filter(|name| listed.contains(&format!("/{name}")));
    let mut expected: BTreeSet<String> = expected_failures.collect();
    expected.retain(|name| !MORE_THAN_P4C.contains(&name.as_str()));
    expected.extend(set(LESS_THAN_P4C));
    assert_eq!(beyond, expected, "of {}", programs.len());
}

#[test]
fn what_else_uses_v1model_is_accepted_as_portable() {
    let Some(p4c) = checkout("P4C_CHECKOUT") else { return };
    let mut programs = programs_of(&p4c.join("testdata/p4_16_samples"));
    programs.retain(|path| !name(path).ends_with("-bmv2.p4") && is_v1model(path));
    programs.retain(|path| !REFUSED.contains(&name(path).as_str()));
    let beyond = names_of(&programs, |path| !accepts_as_portable(path));
    assert_eq!(beyond, set(NOT_FOR_BMV2), "of {}", programs.len());
}

#[test]
fn samples_are_accepted() {
    let Some(p4c) = checkout("P4C_CHECKOUT") else { return };
    let mut programs = programs_of(&p4c.join("testdata/p4_16_samples"));
    programs.retain(|path| is_v1model(path));
    assert_eq!(names_of(&programs, |path| !accepts(path)), set(REFUSED), "of {}", programs.len());
}

#[test]
fn what_p4c_refuses_is_refused() {
    let Some(p4c) = checkout("P4C_CHECKOUT") else { return };
    for (folder, accepted) in [("p4_16_errors", &[][..]), ("p4_16_bmv_errors", TAKEN_UNDER_AN_OPTION)] {
        let programs = programs_of(&p4c.join("testdata").join(folder));
        assert_eq!(names_of(&programs, accepts), set(accepted), "of {}", programs.len());
    }
}
