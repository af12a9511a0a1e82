// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which parts of a program Tofino cannot run, and which of its resources the program needs.

use std::path::PathBuf;

use marklab_p4::{Options, compile};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::diagnostics::message;
use crate::{CompileError, EngineError};

/// Checks a TNA program against its chip. Returns JSON: `warnings` of the compiler as text; `messages` as in
/// `diagnostics`, each with its `rendering`; and `estimate`, with the fields of `marklab_tofino::estimate::Estimate`.
///
/// Raises CompileError with all messages if the program has errors, EngineError if it is not written for Tofino.
#[pyfunction]
#[pyo3(signature = (path, include_dirs = vec![], defines = vec![]))]
pub(crate) fn tofino_check(
    path: PathBuf,
    include_dirs: Vec<PathBuf>,
    defines: Vec<(String, String)>,
) -> PyResult<String> {
    let compilation = compile(&path, &Options { include_dirs, defines });
    let warnings = compilation.render(false);
    let Some(program) = &compilation.program else { return Err(CompileError::new_err(warnings)) };
    let Some(examined) = marklab_tofino::examine(program, &compilation.sources) else {
        let arch = program.arch.name();
        return Err(EngineError::new_err(format!("the program is written for {arch}, but Tofino needs tna or t2na")));
    };
    let messages = examined.diagnostics.iter().map(|one| {
        let mut shown = message(&compilation.sources, one);
        shown["rendering"] = one.render(&compilation.sources, false).into();
        shown
    });
    let found = json!({
        "arch": program.arch.name(),
        "warnings": warnings,
        "messages": Value::from_iter(messages),
        "estimate": examined.estimate,
    });
    Ok(found.to_string())
}
