// SPDX-License-Identifier: MIT OR Apache-2.0
//! What names of a program stand for, for editors, as JSON. Places are as in [`crate::diagnostics`].

use std::path::PathBuf;

use marklab_p4::Options;
use marklab_p4::language::{Candidate, Edited, Role, candidates, declaration, names};
use marklab_p4::source::{SourceMap, Span};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::diagnostics::{files, place};

/// All names in the file `path`, whose text is `text`, and in the files that it includes.
///
/// ```json
/// [{"place": {...}, "declaration": {...}, "role": "field"}]
/// ```
///
/// `declaration` is the place of the name in its declaration, or null for what the language itself declares.
#[pyfunction]
#[pyo3(signature = (path, text, include_dirs = vec![], defines = vec![], within = None))]
pub(crate) fn names_of(
    path: PathBuf,
    text: &str,
    include_dirs: Vec<PathBuf>,
    defines: Vec<(String, String)>,
    within: Option<Vec<PathBuf>>,
) -> String {
    let edited = Edited { path: &path, text, rest: &*files(within) };
    let found = names(&path, &Options { include_dirs, defines }, &edited);
    let all = found.uses.iter().map(|used| {
        json!({
            "place": place(&found.sources, used.name),
            "declaration": used.declaration.map(|span| place(&found.sources, span)),
            "role": role(used.role),
        })
    });
    Value::from_iter(all).to_string()
}

/// The text of an interface that comes with the front end, by its path in places; None for other files.
#[pyfunction]
pub(crate) fn interface(path: PathBuf) -> Option<&'static str> {
    marklab_p4::language::interface(&path)
}

/// The declaration of the name at characters `start..end` of a text: its words on one line, and its comment.
#[pyfunction]
pub(crate) fn declared(text: &str, start: usize, end: usize) -> (String, String) {
    let byte = |character: usize| text.char_indices().nth(character).map_or(text.len(), |(byte, _)| byte);
    let found = declaration(text, byte(start), byte(end));
    (found.text, found.comment)
}

/// The names that may stand at character `offset` of the file `path`, whose text is `text`.
///
/// ```json
/// [{"name": "enq_qdepth", "role": "field", "text": "bit<19> enq_qdepth", "comment": "packets found in the queue"}]
/// ```
#[pyfunction]
#[pyo3(signature = (path, text, offset, include_dirs = vec![], defines = vec![], within = None))]
pub(crate) fn candidates_at(
    path: PathBuf,
    text: &str,
    offset: usize,
    include_dirs: Vec<PathBuf>,
    defines: Vec<(String, String)>,
    within: Option<Vec<PathBuf>>,
) -> String {
    let byte = text.char_indices().nth(offset).map_or(text.len(), |(byte, _)| byte);
    let (sources, found) = candidates(&path, (text, byte), &Options { include_dirs, defines }, &*files(within));
    Value::from_iter(found.iter().map(|each| candidate(&sources, each))).to_string()
}

fn candidate(sources: &SourceMap, of: &Candidate) -> Value {
    let (text, comment) = of.declaration.map_or_else(Default::default, |Span { file, start, end }| {
        let found = declaration(&sources.file(file).text, start as usize, end as usize);
        (found.text, found.comment)
    });
    json!({"name": of.name, "role": role(of.role), "text": text, "comment": comment})
}

fn role(of: Role) -> &'static str {
    match of {
        Role::Type => "type",
        Role::Block => "block",
        Role::Constant => "constant",
        Role::Variable => "variable",
        Role::Parameter => "parameter",
        Role::Field => "field",
        Role::Function => "function",
        Role::Method => "method",
        Role::Action => "action",
        Role::Table => "table",
        Role::State => "state",
        Role::Instance => "instance",
        Role::ValueSet => "value set",
    }
}
