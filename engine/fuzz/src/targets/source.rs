// SPDX-License-Identifier: MIT OR Apache-2.0
//! Source text: the answer is a program or messages with places in the source, and a program can be loaded.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use marklab_p4::loader::{Disk, Loader};
use marklab_p4::{Category, Compilation, Options, compile_with};

use super::number;
use crate::bytes::Bytes;
use crate::{home, programs};

pub(super) const PIECES: &[&str] = &[
    "action",
    "actions",
    "apply",
    "bit<8>",
    "bit<4096>",
    "bool",
    "const",
    "control",
    "default",
    "else",
    "entries",
    "enum",
    "error",
    "exit",
    "extern",
    "for (",
    "header",
    "header_union",
    "if (",
    "in ",
    "inout ",
    "int",
    "int<8>",
    "key",
    "lpm",
    "match_kind",
    "out ",
    "package",
    "parser",
    "priority",
    "return",
    "select(",
    "state",
    "string",
    "struct",
    "switch (",
    "table",
    "this",
    "transition",
    "true",
    "tuple<",
    "type",
    "typedef",
    "value_set",
    "varbit<16>",
    "void",
    "accept",
    "reject",
    "isValid()",
    ".next",
    ".last",
    "extract(",
    "0",
    "1",
    "8w255",
    "4s7",
    "-1",
    "99999999999999999999",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ";",
    ",",
    ":",
    "..",
    "...",
    "=",
    "==",
    "+",
    "-",
    "*",
    "/",
    "%",
    "<<",
    ">>",
    "|+|",
    "|-|",
    "++",
    "&&&",
    "&&",
    "?",
    "@name(\"a\")",
    "@a",
    "\n#define a b\n",
    "\n#if 1\n",
    "\n#endif\n",
    "\n#include <v1model.p4>\n",
    "/*",
    "*/",
    "\"",
];

/// The text as a file beside the programs of the tests, so that it can include the same files.
struct Beside {
    path: PathBuf,
    text: String,
}

impl Loader for Beside {
    fn load(&self, path: &Path) -> io::Result<String> {
        if path == self.path { Ok(self.text.clone()) } else { Disk.load(path) }
    }
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    programs::paths().iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

pub(super) fn run(input: &[u8]) -> Result<u64, String> {
    let path = home().join("../p4/tests/ok/fuzz.p4");
    let beside = Beside { path: path.clone(), text: String::from_utf8_lossy(input).into_owned() };
    let compilation = compile_with(&path, &Options::default(), &beside);
    let problems = judge(&compilation)?;
    let Some(program) = compilation.program else { return Ok(number(problems)) };
    let size = program.slots.len().ilog2();
    // A program that compiles either runs or is refused with a reason.
    if let Some(loaded) = programs::load(program) {
        loaded.send(&mut loaded.states(), &mut Bytes::new(input))?;
    }
    Ok(number((problems, size)))
}

/// Checks what must hold for every answer. Returns the ids of its messages.
fn judge(compilation: &Compilation) -> Result<BTreeSet<&'static str>, String> {
    let rendered = compilation.render(false);
    if compilation.program.is_none() != compilation.has_errors() {
        return Err(format!("a program and errors, or neither: {rendered}"));
    }
    for diagnostic in &compilation.diagnostics {
        let file = compilation.sources.file(diagnostic.span.file);
        let (start, end) = (diagnostic.span.start as usize, diagnostic.span.end as usize);
        if file.text.get(start..end).is_none() {
            return Err(format!("{start}..{end} is not a place in {}: {rendered}", file.path.display()));
        }
        if diagnostic.category() == Category::Internal {
            return Err(rendered);
        }
    }
    Ok(compilation.diagnostics.iter().map(|diagnostic| diagnostic.problem.id()).collect())
}
