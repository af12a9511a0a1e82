// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiler's messages about a program, as data.

use std::path::PathBuf;

use marklab_p4::diagnostics::Kind;
use marklab_p4::language::Edited;
use marklab_p4::loader::{Confined, Disk, Loader};
use marklab_p4::source::{SourceMap, Span};
use marklab_p4::{Diagnostic, Options, compile, compile_with};
use pyo3::prelude::*;
use serde_json::{Value, json};

/// Returns the compiler's messages as a JSON list, ordered by place. Lines and columns count from 1; `end_column` is
/// the column after the last one. `text` replaces the file's, as an editor has it before it is saved; `within` are the
/// only folders from which a program with such a text may include files.
///
/// ```json
/// [{"id": "E0302", "category": "error", "text": "`x` is not declared", "help": null,
///   "place": {"path": "a.p4", "line": 3, "column": 9, "end_line": 3, "end_column": 10},
///   "labels": [{"text": "declared here", "place": {...}}]}]
/// ```
#[pyfunction]
#[pyo3(signature = (path, include_dirs = vec![], defines = vec![], text = None, within = None))]
pub(crate) fn diagnostics(
    path: PathBuf,
    include_dirs: Vec<PathBuf>,
    defines: Vec<(String, String)>,
    text: Option<&str>,
    within: Option<Vec<PathBuf>>,
) -> String {
    let options = Options { include_dirs, defines };
    let compilation = match text {
        None => compile(&path, &options),
        Some(text) => compile_with(&path, &options, &Edited { path: &path, text, rest: &*files(within) }),
    };
    let sources = &compilation.sources;
    let messages = compilation.diagnostics.iter().map(|diagnostic| message(sources, diagnostic));
    Value::from_iter(messages).to_string()
}

/// All files, or those within folders.
pub(crate) fn files(within: Option<Vec<PathBuf>>) -> Box<dyn Loader + Sync> {
    match within {
        None => Box::new(Disk),
        Some(folders) => Box::new(Confined { folders }),
    }
}

pub(crate) fn message<K: Kind>(sources: &SourceMap, diagnostic: &Diagnostic<K>) -> Value {
    let labels = diagnostic.labels.iter().map(|label| json!({"text": label.text, "place": place(sources, label.span)}));
    json!({
        "id": diagnostic.problem.id(),
        "category": diagnostic.category().to_string(),
        "text": diagnostic.problem.to_string(),
        "help": diagnostic.help,
        "place": place(sources, diagnostic.span),
        "labels": labels.collect::<Vec<_>>(),
    })
}

pub(crate) fn place(sources: &SourceMap, span: Span) -> Value {
    let (line, column) = sources.line_column(span);
    let (end_line, end_column) = sources.line_column(Span { start: span.end, ..span });
    let path = sources.file(span.file).path.display().to_string();
    json!({"path": path, "line": line, "column": column, "end_line": end_line, "end_column": end_column})
}
