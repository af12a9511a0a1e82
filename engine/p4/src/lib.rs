// SPDX-License-Identifier: MIT OR Apache-2.0
//! P4_16 front end: source text to typed, flat IR.
//!
//! Knows nothing of packets in flight. The parts, in the order in which a program passes through them:
//!
//! - [`source`], [`loader`]: files, where they come from, and places in them;
//! - `preprocess`: the C preprocessor; `lexer`: tokens;
//! - `parser`: tokens to the syntax tree (`ast`);
//! - `check`: names, types and constants, giving the checked program (`typed`, `types`);
//! - `lower`: instances, inlining and flattening, with `externs`, what it keeps of an architecture;
//! - `arch`: what an architecture's externs mean, which it tells `lower`;
//! - [`arith`]: what operators compute, wherever they are computed;
//! - [`ir`]: the result, which `marklab-pipeline` runs;
//! - [`control_plane`]: the same program as its author declared it, for those who name its objects from outside;
//! - [`diagnostics`]: messages, of which [`Problem`] is the closed list; `outlook`: advice about unknown names.
//!
//! What never happens here: a panic for a bad program, a message without a place, a construct that is dropped in
//! silence. What a program may ask for but the front end cannot give is reported as *unsupported*, which is a category
//! of its own.

mod arch;
pub mod arith;
mod ast;
mod check;
pub mod control_plane;
pub mod diagnostics;
mod externs;
pub mod ir;
mod lexer;
pub mod loader;
mod lower;
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

/// Stack of the thread that compiles: passes recurse over programs, whose nesting the parser bounds.
const STACK_BYTES: usize = 256 << 20;

/// How to compile.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// Folders in which `#include` looks, in order.
    pub include_dirs: Vec<PathBuf>,
    /// Macros defined before the first line.
    pub defines: Vec<(String, String)>,
}

/// What came of compiling a program.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// All files that were read.
    pub sources: SourceMap,
    /// The program, unless there was an error.
    pub program: Option<ir::Program>,
    /// What a control plane can name in it; there if the program is.
    pub control_plane: Option<ControlPlane>,
    /// Messages by place.
    pub diagnostics: Vec<Diagnostic>,
    /// A hash over the preprocessed text, which names results that depend on it.
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
/// If the system has no memory for another thread.
pub fn compile_with(main: &Path, options: &Options, loader: &(dyn Loader + Sync)) -> Compilation {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("p4".into()).stack_size(STACK_BYTES);
        let thread = builder.spawn_scoped(scope, || compile_here(main, options, loader));
        match thread.expect("a thread can be started").join() {
            Ok(compilation) => compilation,
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

/// From preprocessed text to the IR. Each stage needs the one before it without errors: it would otherwise report what
/// only follows from them. `end` is where the main file ends.
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
        // What comes last may lie in an included file, and there may be nothing at all.
        let last = tokens.last().map(|token| token.span).filter(|span| span.file == end.file);
        let end = last.unwrap_or(end);
        diagnostics.error(end, Problem::NoMain {}).help("end the program with `V1Switch(...) main;`");
        return None;
    };
    let program = arch::lower(&typed, main, name, diagnostics)?;
    Some((program, control_plane::describe(&typed, main)))
}

/// FNV-1a over 128 bits: stable across machines and versions, and no dependency. It need not resist attacks.
fn digest(words: &[preprocess::lex::PpToken]) -> String {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let bytes = words.iter().flat_map(|word| word.text.bytes().chain([b'\n']));
    let hash = bytes.fold(BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
    format!("{hash:032x}")
}
