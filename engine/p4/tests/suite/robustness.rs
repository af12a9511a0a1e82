// SPDX-License-Identifier: MIT OR Apache-2.0
//! The front end answers for every text: no panic, no internal error, no endless work.
//!
//! The cases are the same at each run. `ROBUSTNESS_FACTOR=100 cargo test robustness` runs 100 times as many.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use marklab_p4::language;
use marklab_p4::loader::Disk;
use marklab_p4::{Category, Compilation, Options, compile_with};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;

use crate::{Beside, programs_in, programs_of};

/// Far more than any text of these sizes takes, on any machine.
const LIMIT: Duration = Duration::from_secs(20);

/// Words of the grammar and of the preprocessor, and some to make names and numbers of.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "abstract", "action", "actions", "apply", "bit", "bool", "break", "const", "continue", "control", "default",
    "else", "entries", "enum", "error", "exit", "extern", "false", "for", "header", "header_union", "if", "in",
    "inout", "int", "key", "list", "match_kind", "out", "package", "parser", "priority", "return", "select", "state",
    "string", "struct", "switch", "table", "this", "transition", "true", "tuple", "type", "typedef", "value_set",
    "varbit", "void", "accept", "reject", "start", "main", "a", "b", "T", "_", "isValid", "next", "last", "extract",
    "0", "1", "8w255", "4s7", "0x_f", "9999999999999999999999", "\"s\"", "(", ")", "{", "}", "[", "]", "<", ">", ">>",
    "<<", ";", ",", ":", ".", "..", "...", "=", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "!", "~", "&", "|",
    "^", "&&", "||", "&&&", "++", "|+|", "|-|", "+=", "?", "@", "@name", "{#}", "+:", "\n#if 1\n", "\n#ifdef a\n",
    "\n#elif a\n", "\n#else\n", "\n#endif\n", "\n#define a b", "\n#define b(x) x##x #x", "\n#define T(a, ...) a",
    "\n#undef a\n", "\n#include <core.p4>\n", "\n#include \"test.p4\"\n", "\n#line 3\n", "\n#pragma a\n", "\\\n",
    "/*", "*/", "//", "\"", "'", "`", "#", "##", "é",
];

static CORPUS: LazyLock<Vec<Program>> = LazyLock::new(|| {
    let schemes = programs_of(Path::new("../../p4src/v1model"));
    programs_in("ok").into_iter().chain(schemes).map(Program::read).collect()
});

/// A correct program, split into words.
struct Program {
    path: PathBuf,
    words: Vec<String>,
}

impl Program {
    fn read(path: PathBuf) -> Program {
        let text = std::fs::read_to_string(&path).expect("a readable program");
        let mut words: Vec<String> = Vec::new();
        let mut in_name = false;
        for c in text.chars() {
            let continues = in_name && (c.is_alphanumeric() || c == '_');
            match words.last_mut().filter(|_| continues) {
                Some(word) => word.push(c),
                None => words.push(c.into()),
            }
            in_name = c.is_alphanumeric() || c == '_';
        }
        Program { path, words }
    }

    /// A random word, not a blank.
    fn word(&self, at: Index) -> &str {
        let start = at.index(self.words.len());
        let following = self.words[start..].iter().chain(&self.words);
        following.map(|word| word.as_str()).find(|word| !word.trim().is_empty()).expect("a program is not blank")
    }
}

/// A change to the words of a program.
#[derive(Clone, Debug)]
enum Edit {
    Delete(Index, usize),
    Repeat(Index, usize, usize),
    Replace(Index, &'static str),
    Insert(Index, &'static str),
    /// Replaces a word with one from another place, perhaps of another program.
    Borrow(Index, Index, Index),
    Truncate(Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        3 => (at(), 1..8usize).prop_map(|(at, len)| Edit::Delete(at, len)),
        2 => (at(), 1..40usize, 1..4usize).prop_map(|(at, len, times)| Edit::Repeat(at, len, times)),
        3 => (at(), select(WORDS)).prop_map(|(at, word)| Edit::Replace(at, word)),
        2 => (at(), select(WORDS)).prop_map(|(at, word)| Edit::Insert(at, word)),
        6 => (at(), at(), at()).prop_map(|(at, program, from)| Edit::Borrow(at, program, from)),
        1 => at().prop_map(Edit::Truncate),
    ]
}

fn edited(program: &Program, edits: &[Edit]) -> String {
    let mut words: Vec<&str> = program.words.iter().map(String::as_str).collect();
    for edit in edits {
        let index = |at: &Index| if words.is_empty() { 0 } else { at.index(words.len()) };
        match edit {
            Edit::Delete(at, len) => _ = words.drain(index(at)..(index(at) + len).min(words.len())),
            Edit::Repeat(at, len, times) => {
                let at = index(at);
                let piece = words[at..(at + len).min(words.len())].repeat(*times);
                words.splice(at..at, piece);
            }
            Edit::Replace(at, new) => put(&mut words, *at, new),
            Edit::Borrow(at, from, word) => put(&mut words, *at, from.get(&CORPUS).word(*word)),
            Edit::Insert(at, new) => words.insert(index(at), new),
            Edit::Truncate(at) => words.truncate(index(at)),
        }
    }
    words.concat()
}

/// Replaces the next word that is not blank.
fn put<'a>(words: &mut [&'a str], at: Index, new: &'a str) {
    let start = if words.is_empty() { 0 } else { at.index(words.len()) };
    if let Some(word) = words[start..].iter_mut().find(|word| !word.trim().is_empty()) {
        *word = new;
    }
}

/// Asks what an editor asks, with the cursor in the middle, and checks that all names are in the files.
fn answer_to_an_editor(path: &Path, text: &str) -> Result<(), TestCaseError> {
    let options = Options::default();
    let loader = Beside { path, text: text.to_string() };
    let found = language::names(path, &options, &loader);
    for used in &found.uses {
        for span in [Some(used.name), used.declaration].into_iter().flatten() {
            let file = found.sources.file(span.file);
            let (start, end) = (span.start as usize, span.end as usize);
            prop_assert!(file.text.get(start..end).is_some(), "{start}..{end} is no place in {}", file.path.display());
            language::declaration(&file.text, start, end);
        }
    }
    let (sources, names) = language::candidates(path, (text, text.len() / 2), &options, &Disk);
    for span in names.iter().filter_map(|name| name.declaration) {
        let text = &sources.file(span.file).text;
        prop_assert!(text.get(span.start as usize..span.end as usize).is_some());
    }
    Ok(())
}

/// Compiles a text in the place of a file and checks what holds for every answer.
fn answer(path: &Path, text: String) -> Result<Compilation, TestCaseError> {
    let start = Instant::now();
    let compilation = compile_with(path, &Options::default(), &Beside { path, text });
    let rendered = compilation.render(false);
    let took = start.elapsed();
    prop_assert!(took < LIMIT, "took {took:?}");
    prop_assert_eq!(compilation.program.is_none(), compilation.has_errors(), "{}", rendered);
    for diagnostic in &compilation.diagnostics {
        prop_assert_ne!(diagnostic.category(), Category::Internal, "{}", rendered);
        let file = compilation.sources.file(diagnostic.span.file);
        let (start, end) = (diagnostic.span.start as usize, diagnostic.span.end as usize);
        prop_assert!(file.text.get(start..end).is_some(), "{start}..{end} is no place in {}", file.path.display());
    }
    if let Some(program) = &compilation.program {
        prop_assert!(!program.to_string().is_empty());
    }
    Ok(compilation)
}

fn config(cases: u32) -> ProptestConfig {
    let factor = std::env::var("ROBUSTNESS_FACTOR").map_or(1, |factor| factor.parse().expect("a whole number"));
    ProptestConfig {
        cases: cases * factor,
        rng_seed: RngSeed::Fixed(0x9416),
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn random_bytes_are_answered(bytes in vec(any::<u8>(), 0..300)) {
        answer(Path::new("tests/test.p4"), String::from_utf8_lossy(&bytes).into_owned())?;
    }

    #[test]
    fn random_characters_are_answered(text in "[ -~\n\t\"#\\\\/*]{0,300}") {
        answer(Path::new("tests/test.p4"), text)?;
    }

    #[test]
    fn random_words_are_answered(words in vec(select(WORDS), 0..120), blank in select(&["", " ", "\n"][..])) {
        answer(Path::new("tests/test.p4"), words.join(blank))?;
    }
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn edited_programs_are_answered(program in any::<Index>(), edits in vec(edit(), 1..6)) {
        let program = program.get(&CORPUS);
        answer(&program.path, edited(program, &edits))?;
    }
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn an_editor_is_answered(program in any::<Index>(), edits in vec(edit(), 1..6)) {
        let program = program.get(&CORPUS);
        answer_to_an_editor(&program.path, &edited(program, &edits))?;
    }
}

#[test]
fn truncated_programs_are_answered() {
    for program in CORPUS.iter() {
        let step = program.words.len().div_ceil(40);
        for end in (0..program.words.len()).step_by(step) {
            answer(&program.path, program.words[..end].concat()).expect("an answer");
        }
    }
}

/// Short texts that could expand without limit.
#[test]
fn explosive_texts_are_answered() {
    let doubling: String = (1..60).map(|i| format!("#define X{i} X{0} X{0}\n", i - 1)).collect();
    let types: String = (1..60).map(|i| format!("struct s{i} {{ s{0} a; s{0} b; }}\n", i - 1)).collect();
    let calls: String =
        (1..40).map(|i| format!("bit<8> f{i}(in bit<8> x) {{ return f{0}(f{0}(x)); }}\n", i - 1)).collect();
    let frame = "#include \"include/frame.p4\"\n";
    let body = |text: &str| {
        format!(
            "control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{ apply {{ {text} }} }}\nV1Switch(P(), V(), Case(), E(), C(), D()) main;"
        )
    };
    let texts = [
        format!("{doubling}X59"),
        format!("struct s0 {{ bit<8> a; }}\n{types}{frame}{}", body("s59 s; s.a = s.b;")),
        format!("bit<8> f0(in bit<8> x) {{ return x + 1; }}\n{calls}{frame}{}", body("meta.y = f39(1);")),
        format!("{frame}{}", body("meta.x = (bit<16>)((bit<2000000000>)meta.x << 3);")),
        format!("{frame}{}", body("h_t[2000000000] s; s[1].a = 1;")),
        format!("{frame}{}", body("for (bit<64> i in 0 .. 0xffffffffffffffff) { meta.x = meta.x + 1; }")),
        format!("{frame}{}", body(&"if (meta.x == 1) { ".repeat(5_000))),
        "const int a = 1 << 4000000000;".to_string(),
        "const int a = 3 << 100000;\nconst int b = a * a * a * a * a * a * a * a;".to_string(),
        format!("const bit<8> a = {}1;", "-".repeat(100_000)),
        format!("const bit<8> a = 1{};", " + 1".repeat(100_000)),
        format!("typedef {}bit<8>{} t;", "tuple<".repeat(50_000), ">".repeat(50_000)),
        "(".repeat(100_000),
        "@a(".repeat(50_000),
        "#if 1\n".repeat(50_000),
        "#include \"explosive.p4\"\n".repeat(3),
    ];
    for (index, text) in texts.into_iter().enumerate() {
        answer(Path::new("tests/ok/explosive.p4"), text).unwrap_or_else(|error| panic!("text {index}: {error}"));
    }
}

/// A program with this text as ingress, with declarations before it and locals.
fn ingress(declarations: &str, locals: &str, text: &str) -> String {
    format!(
        "#include \"include/frame.p4\"\n{declarations}control Case(inout headers_t hdr, inout meta_t meta, \
         inout standard_metadata_t std) {{\n{locals}apply {{\n{text}}} }}\n\
         V1Switch(P(), V(), Case(), E(), C(), D()) main;\n"
    )
}

/// The ids of the errors for a text, after the checks that hold for every answer.
fn errors_of(text: String) -> BTreeSet<&'static str> {
    let path = Path::new("tests/ok/robustness.p4");
    let compilation = answer(path, text).unwrap_or_else(|error| panic!("{error}"));
    let errors = compilation.diagnostics.iter().filter(|diagnostic| diagnostic.category() != Category::Warning);
    errors.map(|diagnostic| diagnostic.problem.id()).collect()
}

const MANY: usize = 100_000;

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

#[test]
fn long_programs_are_compiled() {
    let entries = lines(MANY, |i| format!("({i}, 0 &&& 1): a();\n"));
    let table =
        "key = { hdr.h.c ++ meta.x : exact @name(\"k\"); meta.y : ternary; } actions = { a; } default_action = a();";
    let texts = [
        ("statements", ingress("", "", &"meta.x = meta.x + 1;\n".repeat(MANY))),
        ("locals", ingress("", "", &lines(MANY, |i| format!("bit<16> v{i} = meta.x;\n")))),
        ("constants", ingress(&lines(MANY, |i| format!("const bit<8> c{i} = 1;\n")), "", "meta.y = c7;")),
        (
            "entries",
            ingress(
                "",
                &format!("action a() {{ }}\ntable t {{ {table} const entries = {{\n{entries}}} }}\n"),
                "t.apply();",
            ),
        ),
        (
            "fields",
            ingress(&format!("struct s_t {{\n{}}}\n", lines(MANY, |i| format!("bit<8> f{i};\n"))), "", "s_t s;"),
        ),
        (
            "equal fields",
            ingress(
                &format!("struct s_t {{\n{}}}\n", lines(20_000, |i| format!("bit<8> f{i};\n"))),
                "",
                "s_t a; s_t b; a = b; if (a == b) { meta.x = 1; }",
            ),
        ),
        ("labels", ingress("", "", &format!("switch (meta.x) {{\n{}}}\n", lines(65_536, |i| format!("{i}: {{ }}\n"))))),
        (
            "tables",
            ingress(
                "",
                &lines(20_000, |i| {
                    format!(
                        "direct_meter<bit<8>>(MeterType.packets) m{i}; action a{i}() {{ m{i}.read(meta.y); }}
                         table t{i} {{ key = {{ hdr.h.a : exact; }} actions = {{ a{i}; }} meters = m{i}; }}\n"
                    )
                }),
                &lines(20_000, |i| format!("t{i}.apply();\n")),
            ),
        ),
        (
            "states",
            ingress(
                &format!(
                    "parser Long(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {{
                     state start {{ transition s0; }} {} state s{MANY} {{ transition accept; }} }}\n",
                    lines(MANY, |i| format!("state s{i} {{ transition s{}; }}\n", i + 1))
                ),
                "",
                "",
            )
            .replace("V1Switch(P()", "V1Switch(Long()"),
        ),
        (
            "instances",
            ingress(
                &lines(20_000, |i| format!("control c{i}_t(inout bit<16> x) {{ apply {{ x = x + 1; }} }}\n")),
                &lines(20_000, |i| format!("c{i}_t() c{i};\n")),
                &lines(20_000, |i| format!("c{i}.apply(meta.x);\n")),
            ),
        ),
        (
            "fields by name",
            ingress(
                &format!("struct s_t {{\n{}}}\n", lines(MANY, |i| format!("bit<8> f{i};\n"))),
                "s_t s;",
                &lines(MANY, |i| format!("s.f{i} = 1;\n")),
            ),
        ),
        ("blank lines", format!("{}{}", "\n".repeat(10 * MANY), ingress("", "", ""))),
    ];
    for (what, text) in texts {
        assert_eq!(errors_of(text), BTreeSet::new(), "{what}");
    }
}

#[test]
fn long_wrong_programs_are_refused() {
    assert_eq!(errors_of(ingress("", "", &"undeclared = 1;\n".repeat(MANY))), ["E0302"].into());
    assert_eq!(errors_of(ingress("", "", &"bit<8> v;\n".repeat(MANY))), ["E0307"].into());
    assert!(errors_of(ingress("", "", &"meta.x = ;\n".repeat(MANY))).contains("E0205"));
}

#[test]
fn deep_nesting_is_refused() {
    let texts = [
        ("parentheses", format!("meta.x = {}1{};", "(".repeat(MANY), ")".repeat(MANY))),
        ("operands", format!("meta.x = 1{};", " + meta.x".repeat(MANY))),
        ("signs", format!("meta.x = {}1;", "~".repeat(MANY))),
        ("casts", format!("meta.x = {}1;", "(bit<16>)".repeat(MANY))),
        ("choices", format!("meta.x = {}1;", "true ? 1 : ".repeat(MANY))),
        ("members", format!("meta{} = 1;", ".x".repeat(MANY))),
        ("calls", format!("{}{};", "f(".repeat(MANY), ")".repeat(MANY))),
        ("lists", format!("meta = {}{};", "{".repeat(MANY), "}".repeat(MANY))),
        ("types", format!("{}bit<8>{} t;", "tuple<".repeat(MANY), ">".repeat(MANY))),
        ("blocks", format!("{}{}", "{".repeat(MANY), "}".repeat(MANY))),
        ("branches", format!("{}{{ }}", "if (meta.x == 1) { } else ".repeat(MANY))),
        ("loops", format!("{}{}", "for (bit<8> i in 0 .. 1) {".repeat(MANY), "}".repeat(MANY))),
    ];
    for (what, text) in texts {
        assert!(errors_of(ingress("", "", &text)).contains("E0207"), "{what}");
    }
}

/// A few lines that require 2^39 or more of something.
#[test]
fn doubling_is_refused() {
    let actions = lines(60, |i| match i {
        0 => "action a0() { meta.x = meta.x + 1; }\n".to_string(),
        _ => format!("action a{i}() {{ a{0}(); a{0}(); }}\n", i - 1),
    });
    let empty_actions = actions.replace("meta.x = meta.x + 1;", "");
    let controls = lines(40, |i| match i {
        0 => "control K0() { apply { } }\n".to_string(),
        _ => format!("control K{i}() {{ K{0}() a; K{0}() b; apply {{ a.apply(); b.apply(); }} }}\n", i - 1),
    });
    assert_eq!(errors_of(ingress("", &actions, "a59();")), ["U0001"].into());
    assert_eq!(errors_of(ingress("", &empty_actions, "a59();")), ["U0001"].into());
    assert_eq!(errors_of(ingress(&controls, "K39() k;\n", "k.apply();")), ["U0001"].into());
    let tenfold = format!("#define A(x) x x x x x x x x x x\nconst int v = {}1{};", "A(".repeat(30), ")".repeat(30));
    assert!(errors_of(tenfold).contains("E0115"));
    let nested = format!("#define F(x) x\nconst int v = {}1{};", "F(".repeat(MANY), ")".repeat(MANY));
    assert!(errors_of(nested).contains("E0115"));
}

#[test]
fn sizes_have_limits() {
    let wide = |width: u32| ingress("", "", &format!("bit<{width}> w = 1; w = w * w; meta.x = (bit<16>)w;\n"));
    assert_eq!(errors_of(wide(4096)), BTreeSet::new());
    assert_eq!(errors_of(wide(65_536)), BTreeSet::new());
    assert_eq!(errors_of(wide(65_537)), ["E0214"].into());
    let stack = |size: u32| ingress("", "", &format!("h_t[{size}] s; s[meta.x].a = 1;\n"));
    assert_eq!(errors_of(stack(4096)), BTreeSet::new());
    assert_eq!(errors_of(stack(4097)), ["E0413"].into());
}
