// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs as control planes see them.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::{CompileError, refuse};

/// Returns all objects of a program that a control plane can name, as JSON, and the compiler's warnings. Objects are as
/// declared, whether this engine can run them or not.
///
/// Raises CompileError with all messages if the program has errors.
#[pyfunction]
#[pyo3(signature = (path, include_dirs = vec![], defines = vec![]))]
pub(crate) fn control_plane(
    path: PathBuf,
    include_dirs: Vec<PathBuf>,
    defines: Vec<(String, String)>,
) -> PyResult<(String, String)> {
    let compilation = marklab_p4::compile(&path, &marklab_p4::Options { include_dirs, defines });
    let messages = compilation.render(false);
    match compilation.control_plane {
        Some(described) => Ok((serde_json::to_string(&described).map_err(refuse)?, messages)),
        None => Err(CompileError::new_err(messages)),
    }
}
