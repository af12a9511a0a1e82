// SPDX-License-Identifier: MIT OR Apache-2.0
//! P4_16 front end: source text to typed, flat IR.
//!
//! It does not process packets. Its parts, in the order of compilation:
//!
//! - [`source`], [`loader`]: source files, how they are read, and positions in them;
//! - `preprocess`: the C preprocessor; `lexer`: tokens;
//! - `parser`: tokens to the syntax tree (`ast`);
//! - `check`: names, types and constants; the result is the checked program (`typed`, `types`);
//! - `lower`: instances, inlining and flattening; `externs`: its data about the architecture;
//! - `arch`: the meaning of an architecture's externs, for `lower`;
//! - [`arith`]: the results of operators, at compile time and at run time;
//! - [`ir`]: the result, which `marklab-pipeline` runs;
//! - [`control_plane`]: the same program as its author declared it, for code that names its objects from outside;
//! - [`language`]: what names stand for, for editors; `named`: its data, which `check` notes;
//! - [`diagnostics`]: messages, of which [`Problem`] is the closed list; `outlook`: advice about unknown names.
//!
//! The front end never panics on a bad program, reports without a position, or drops a construct silently. A valid
//! construct that it cannot compile is reported as *unsupported*, a category of its own.

mod arch;
pub mod arith;
mod ast;
mod check;
pub mod control_plane;
pub mod diagnostics;
mod externs;
pub mod ir;
pub mod language;
mod lexer;
pub mod loader;
mod lower;
mod named;
mod outlook;
mod parser;
mod preprocess;
mod problem;
pub mod source;
mod token;
mod typed;
mod types;

use std::path::{Path, PathBuf};

use control_plane::ControlPlane;
use diagnostics::Diagnostics;
pub use diagnostics::{Category, Diagnostic, Kind, Problem};
use loader::{Disk, Loader};
use source::SourceMap;

/// Stack of the compiler thread. Its passes recurse over the program, whose nesting the parser limits.
const STACK_BYTES: usize = 256 << 20;

/// Options of a compilation.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// Folders in which `#include` looks, in order.
    pub include_dirs: Vec<PathBuf>,
    /// Macros defined before the first line.
    pub defines: Vec<(String, String)>,
}

/// Result of a compilation.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// All files that were read.
    pub sources: SourceMap,
    /// The program, unless there was an error.
    pub program: Option<ir::Program>,
    /// The objects that a control plane can name; present if the program is.
    pub control_plane: Option<ControlPlane>,
    /// Messages, ordered by position.
    pub diagnostics: Vec<Diagnostic>,
    /// Hash of the preprocessed text, to name results that depend on it.
    pub digest: String,
}

impl Compilation {
    /// All messages as text for a terminal or file.
    pub fn render(&self, colour: bool) -> String {
        self.diagnostics.iter().map(|diagnostic| diagnostic.render(&self.sources, colour)).collect()
    }

    /// Whether there was an error of any kind.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.category() != Category::Warning)
    }
}

/// Compiles a program from disk.
pub fn compile(main: &Path, options: &Options) -> Compilation {
    compile_with(main, options, &Disk)
}

/// Compiles a program whose files come from `loader`.
///
/// # Panics
///
/// If the system cannot start another thread.
pub fn compile_with(main: &Path, options: &Options, loader: &(dyn Loader + Sync)) -> Compilation {
    on_large_stack(|| compile_here(main, options, loader))
}

/// Runs passes on the compiler thread.
fn on_large_stack<T: Send>(passes: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("p4".into()).stack_size(STACK_BYTES);
        let thread = builder.spawn_scoped(scope, passes);
        match thread.expect("a thread can be started").join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn compile_here(main: &Path, options: &Options, loader: &dyn Loader) -> Compilation {
    let mut sources = SourceMap::default();
    let mut diagnostics = Diagnostics::default();
    let (main_file, words) = preprocess::preprocess(main, options, loader, &mut sources, &mut diagnostics);
    let digest = digest(&words);
    let name = main.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    let end = sources.end(main_file);
    let (program, control_plane) = translate(&words, &name, end, &mut diagnostics).unzip();
    Compilation { sources, program, control_plane, diagnostics: diagnostics.into_list(), digest }
}

/// Translates preprocessed text to the IR. A stage runs only if the stages before it found no errors: it would report
/// the consequences of those errors again. `end` is the end of the main file.
fn translate(
    words: &[preprocess::lex::PpToken],
    name: &str,
    end: source::Span,
    diagnostics: &mut Diagnostics,
) -> Option<(ir::Program, ControlPlane)> {
    let passed = |diagnostics: &Diagnostics| (diagnostics.errors() == 0).then_some(());
    passed(diagnostics)?;
    let tokens = lexer::lex(words, diagnostics);
    let decls = parser::parse(&tokens, diagnostics);
    passed(diagnostics)?;
    let typed = check::check(&decls, &tokens, diagnostics);
    passed(diagnostics)?;
    let Some(main) = typed.main else {
        // The last token may lie in an included file, and there may be no token at all.
        let last = tokens.last().map(|token| token.span).filter(|span| span.file == end.file);
        let end = last.unwrap_or(end);
        diagnostics.error(end, Problem::NoMain {}).help("end the program with `V1Switch(...) main;`");
        return None;
    };
    let program = arch::lower(&typed, main, name, diagnostics)?;
    Some((program, control_plane::describe(&typed, main)))
}

/// 128-bit FNV-1a: stable across machines and versions, without a dependency. It need not resist attacks.
fn digest(words: &[preprocess::lex::PpToken]) -> String {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let bytes = words.iter().flat_map(|word| word.text.bytes().chain([b'\n']));
    let hash = bytes.fold(BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
    format!("{hash:032x}")
}
