// SPDX-License-Identifier: MIT OR Apache-2.0
//! The preprocessor, tested by the constants of preprocessed programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use marklab_p4::loader::Memory;
use marklab_p4::{Compilation, Options, compile, compile_with};

use crate::{compile_text, ids};

/// Compiles `test.p4` of these files.
fn compile_files(files: &[(&str, &str)], options: &Options) -> Compilation {
    let files = files.iter().map(|(path, text)| (PathBuf::from(path), text.to_string()));
    compile_with(Path::new("test.p4"), options, &Memory(files.collect::<BTreeMap<_, _>>()))
}

/// Asserts that an expression of C and P4 is true after some lines of text, which have no other errors.
#[track_caller]
fn assert_true(text: &str, condition: &str) {
    assert_true_in(&[("test.p4", text)], &Options::default(), condition);
}

#[track_caller]
fn assert_true_in(files: &[(&str, &str)], options: &Options, condition: &str) {
    let (_, main) = files[0];
    let checked = format!("{main}\n#include <core.p4>\nconst bool CHECKED = static_assert({condition});\n");
    let files: Vec<_> = [("test.p4", &*checked)].into_iter().chain(files[1..].iter().copied()).collect();
    let compilation = compile_files(&files, options);
    // These programs consist only of constants.
    assert_eq!(ids(&compilation), ["E0701"], "{}", compilation.render(false));
}

fn defined(name: &str, value: &str) -> Options {
    Options { defines: vec![(name.to_string(), value.to_string())], ..Options::default() }
}

#[test]
fn macros_are_replaced_as_in_c() {
    assert_true("#define A 3\n#define B A + 1", "B * 2 == 5");
    assert_true("#define TWICE(x) ((x) * 2)", "TWICE(TWICE(3)) == 12");
    assert_true("#define WIDE(w, v) w##v\n", "WIDE(8, w200) + 8w100 == 44");
    assert_true("#define TEXT(x) #x\nconst string S = TEXT(a + \"b\");", "true");
    assert_true("#define F(x) x\n#define G F\n", "G(1) == 1 && F (2) == 2");
    assert_true("#define SELF SELF_OF + 1\n#define SELF_OF 2\nconst int SELF_ = SELF;", "SELF_ == 3");
    assert_true("#define A 1\n#undef A\n#define A 2", "A == 2");
    assert_true("#define SUM(a, ...) a + __VA_ARGS__", "SUM(1, 2) == 3");
    assert_true("#define NOTHING\nconst int NOTHING A NOTHING = 1;", "A == 1");
}

#[test]
fn a_macro_that_names_itself_is_replaced_once() {
    assert_true("const int depth = 4;\n#define depth depth + 1", "depth == 5");
    let mutual = "const int a = 1;\nconst int b = 2;\n#define a b\n#define b a\n";
    assert_true(mutual, "a == 1 && b == 2");
}

#[test]
fn conditions_choose_one_branch() {
    let text = "#define V 2\n#if V == 1\nconst int A = 1;\n#elif V == 2\nconst int A = 2;\n#elif V >= 2\n\
                const int A = 3;\n#else\nconst int A = 4;\n#endif";
    assert_true(text, "A == 2");
    assert_true("#ifndef A\n#define A 1\n#endif\n#ifdef A\n#define B 2\n#else\n#error no\n#endif", "A + B == 3");
    assert_true("#if defined A || !defined(B) && UNKNOWN == 0\n#define C 1\n#endif", "C == 1");
    assert_true("#if 0\n#if 1\n#else\n#endif\n#error no\ndon't `\n#elif 1\n#define A 1\n#endif", "A == 1");
}

#[test]
fn the_version_of_v1model_is_one_that_there_is() {
    for (version, refused) in [("20180100", true), ("20180101", false), ("20200408", false), ("20200409", true)] {
        let text = format!("#define V1MODEL_VERSION {version}\n#include <v1model.p4>\n");
        assert_eq!(ids(&compile_text(&text)).contains(&"E0118"), refused, "{version}");
    }
    let negative = compile_text("#define V1MODEL_VERSION -6419018\n#include <v1model.p4>\n");
    assert!(ids(&negative).contains(&"E0118"));
}

#[test]
fn includes_are_found_beside_the_file_and_in_the_folders_in_order() {
    let files = [
        ("test.p4", "#include \"lib/a.p4\"\n#include <b.p4>\n#define NAME <c.p4>\n#include NAME"),
        ("lib/a.p4", "#include \"near.p4\"\n"),
        ("lib/near.p4", "const int NEAR = 1;\n"),
        ("first/b.p4", "const int B = 2;\n"),
        ("second/b.p4", "const int B = 3;\n"),
        ("second/c.p4", "const int C = 4;\n"),
    ];
    let options = Options { include_dirs: vec!["first".into(), "second".into()], defines: Vec::new() };
    assert_true_in(&files, &options, "NEAR == 1 && B == 2 && C == 4");
}

#[test]
fn an_angled_include_is_not_looked_for_beside_the_file() {
    let files = [("test.p4", "#include <a.p4>\n"), ("a.p4", "")];
    assert!(ids(&compile_files(&files, &Options::default())).contains(&"E0102"));
}

#[test]
fn a_folder_can_replace_a_built_in_file() {
    let files = [("test.p4", "#include <v1model.p4>"), ("own/v1model.p4", "const int OWN = 7;\n")];
    let options = Options { include_dirs: vec!["own".into()], defines: Vec::new() };
    assert_true_in(&files, &options, "OWN == 7");
}

#[test]
fn an_include_cycle_ends_with_an_error() {
    let files = [("test.p4", "#include \"a.p4\""), ("a.p4", "#include \"b.p4\""), ("b.p4", "#include \"a.p4\"")];
    assert_eq!(ids(&compile_files(&files, &Options::default())), ["E0103"]);
    // Each level includes twice, so a limit of the depth alone would not be enough.
    let twice = [("test.p4", "#include \"test.p4\"\n#include \"test.p4\"\n")];
    assert_eq!(ids(&compile_files(&twice, &Options::default())), ["E0103"]);
}

#[test]
fn a_guarded_cycle_is_no_error() {
    let files = [
        ("test.p4", "#include \"a.p4\""),
        ("a.p4", "#ifndef A\n#define A\n#include \"b.p4\"\nconst int IN_A = 1;\n#endif\n"),
        ("b.p4", "#include \"a.p4\"\nconst int IN_B = 2;\n"),
    ];
    assert_true_in(&files, &Options::default(), "IN_A + IN_B == 3");
}

#[test]
fn defines_come_before_the_first_line() {
    assert_true_in(&[("test.p4", "")], &defined("K", "65"), "K == 65");
    assert_true_in(&[("test.p4", "")], &defined("MAX(a, b)", "((a) > (b) ? (a) : (b))"), "MAX(3, 4) == 4");
    assert_true_in(&[("test.p4", "#ifndef FLAG\n#error no flag\n#endif")], &defined("FLAG", ""), "true");
    assert_true_in(&[("test.p4", "#undef K\n#define K 3")], &defined("K", "65"), "K == 3");
}

#[test]
fn a_define_that_is_none_is_an_error_on_the_command_line() {
    let compilation = compile_files(&[("test.p4", "")], &defined("3", "4"));
    assert!(ids(&compilation).contains(&"E0109"), "{}", compilation.render(false));
    assert!(compilation.render(false).contains("<command line>:1:1"), "{}", compilation.render(false));
}

#[test]
fn lines_can_be_continued_inside_of_words() {
    assert_true("#define LONG 1 + \\\n 2\nconst int LO\\\nST = LONG;", "LOST == 3 && LONG == 3");
    assert_true("// a comment that goes on \\\n#error in the comment\nconst int A = 1;", "A == 1");
    assert_true("const int A = 1;\r\n#define B \\\r\n 2\r\n", "A + B == 3");
}

#[test]
fn a_line_directive_moves_only_what_the_program_sees() {
    assert_true("#line 100\nconst int L = __LINE__;", "L == 100");
    let compilation = compile_text("#line 100 \"other.p4\"\nconst int L = missing;\n");
    assert!(compilation.render(false).contains("test.p4:2:15"), "{}", compilation.render(false));
}

#[test]
fn a_message_about_a_macro_points_to_its_use() {
    let compilation = compile_text("#define WRONG missing\n\nconst int A = 1 + WRONG;\n");
    assert!(compilation.render(false).contains("test.p4:3:19"), "{}", compilation.render(false));
}

#[test]
fn a_message_about_an_included_file_names_it() {
    let files = [("test.p4", "#include \"a.p4\"\n"), ("a.p4", "\nconst int A = missing;\n")];
    let text = compile_files(&files, &Options::default()).render(false);
    assert!(text.contains("--> a.p4:2:15"), "{text}");
}

#[test]
fn the_digest_names_the_text_that_counts() {
    let digest = |text: &str| compile_text(text).digest;
    let plain = digest("const int A = 1;");
    assert_eq!(plain, digest("#define ONE 1\n/* a */ const\nint A=ONE; // b"));
    assert_ne!(plain, digest("const int A = 2;"));
    assert_ne!(digest("const int AB = 1;"), digest("const int A B = 1;"));
}

#[test]
fn a_program_without_text_lacks_its_main_at_its_end() {
    for (text, place) in
        [("", "test.p4:1:1"), ("\n// nothing\n", "test.p4:2:11"), ("#include <core.p4>\n", "test.p4:1:19")]
    {
        let compilation = compile_text(text);
        assert_eq!(ids(&compilation), ["E0701"]);
        assert!(compilation.render(false).contains(place), "{}", compilation.render(false));
    }
}

/// Output of the system's preprocessor, which p4c runs, or `None` if there is none.
fn cpp_tokens(path: &Path) -> Option<String> {
    let arguments = ["-undef", "-nostdinc", "-P", "-x", "assembler-with-cpp", "-D__TARGET_BMV2__", "-Ip4include"];
    let output = std::process::Command::new("cpp").args(arguments).arg(path).output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("cpp keeps to UTF-8"))
}

/// The output of `cpp` for a program has the digest of the program, unless it contains macros or directives again.
#[test]
fn our_tokens_are_those_of_cpp() {
    let schemes = Path::new("../../p4src/v1model");
    let mut paths = crate::programs_in("ok");
    paths.extend(crate::programs_of(schemes));
    for path in paths {
        let Some(text) = cpp_tokens(&path) else {
            return crate::skip("needs cpp, which is not on PATH");
        };
        assert_eq!(compile_text(&text).digest, compile(&path, &Options::default()).digest, "{}", path.display());
    }
}
