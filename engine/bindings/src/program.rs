// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiled programs.

use std::path::PathBuf;
use std::sync::Arc;

use marklab_p4::ir;
use marklab_p4::source::SourceMap;
use marklab_pipeline::{Engine, FailedAssertion, Interpreter, Jit, Layout, LoadError, State, prune};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::{CompileError, refuse};

/// A compiled P4 program, ready to be run by any number of switches.
#[pyclass(frozen, module = "marklab._engine")]
pub(crate) struct Program {
    pub(crate) program: Arc<ir::Program>,
    pub(crate) layout: Arc<Layout>,
    pub(crate) engine: Arc<dyn Engine>,
    /// For places in messages and traces.
    pub(crate) sources: Arc<SourceMap>,
    /// Why the program is interpreted, or None if it runs as machine code.
    #[pyo3(get)]
    jit_declined: Option<String>,
    /// Warnings of the compiler, as text.
    #[pyo3(get)]
    warnings: String,
    /// Digest of the source, with includes and macros resolved.
    #[pyo3(get)]
    digest: String,
    /// Externs that the program calls but the engine does not implement: such a program cannot run.
    #[pyo3(get)]
    foreign: Vec<String>,
    /// Architecture: `v1model`, `tna`, `t2na`.
    #[pyo3(get)]
    arch: &'static str,
    /// Needs of the program beside table entries: for each, the setting that fulfils it, and the reason.
    #[pyo3(get)]
    needs: Vec<(&'static str, String)>,
}

#[pymethods]
impl Program {
    /// Compiles a program.
    ///
    /// With `interpret`, the reference interpreter runs it even if it could run as machine code.
    ///
    /// Raises CompileError with all messages if the program has errors.
    #[new]
    #[pyo3(signature = (path, include_dirs = vec![], defines = vec![], interpret = false))]
    fn new(
        path: PathBuf,
        include_dirs: Vec<PathBuf>,
        defines: Vec<(String, String)>,
        interpret: bool,
    ) -> PyResult<Program> {
        let compilation = marklab_p4::compile(&path, &marklab_p4::Options { include_dirs, defines });
        let messages = compilation.render(false);
        let digest = compilation.digest.clone();
        let Some(program) = compilation.program else { return Err(CompileError::new_err(messages)) };
        let program = Arc::new(prune(&program));
        let layout = Arc::new(Layout::new(&program));
        match State::new(&program, &layout, 0) {
            // A program can be described without a state; running it makes one.
            Ok(_) | Err(LoadError::Foreign { .. }) => {}
            Err(error) => return Err(refuse(error)),
        }
        let (engine, jit_declined): (Arc<dyn Engine>, Option<String>) = if interpret {
            (Arc::new(Interpreter::new(&program, &layout)), Some("interpretation was requested".to_owned()))
        } else {
            match Jit::compile(&program, &layout) {
                Ok(jit) => (Arc::new(jit), None),
                Err(reason) => (Arc::new(Interpreter::new(&program, &layout)), Some(reason.to_string())),
            }
        };
        let sources = Arc::new(compilation.sources);
        let needs =
            marklab_switch::needs(&program).into_iter().map(|need| (need.setting(), need.to_string())).collect();
        let foreign = program.foreign.clone();
        let arch = program.arch.name();
        let warnings = messages;
        Ok(Program { program, layout, engine, sources, jit_declined, warnings, digest, foreign, arch, needs })
    }

    /// Tables, actions, registers, counters, meters, filters, action profiles and value sets, as JSON.
    fn describe(&self) -> String {
        let program = &*self.program;
        let widths = |params: &[ir::ActionParam]| -> Vec<Value> {
            params.iter().map(|param| json!({"name": param.name, "bits": param.ty.width})).collect()
        };
        let actions = |table: &ir::Table| -> Vec<Value> {
            let actions = table.actions.iter().map(|action| &program.actions[action.action.index()]);
            actions.map(|action| json!({"name": action.name, "params": widths(&action.params)})).collect()
        };
        let table = |table: &ir::Table| {
            let keys = table.keys.iter().map(|key| {
                json!({"name": key.name, "match": format!("{:?}", key.kind).to_lowercase(), "bits": key.expr.ty.width})
            });
            let default = &table.default_action;
            let args: Vec<String> = default.args.iter().map(ToString::to_string).collect();
            let default_action = table.actions[default.action as usize].action;
            let profile = table.profile.map(|profile| &program.profiles[profile.index()].name);
            json!({
                "name": table.name,
                "keys": keys.collect::<Vec<_>>(),
                "actions": actions(table),
                "default_action": {"action": program.actions[default_action.index()].name, "args": args},
                "const_default": table.const_default,
                "const_entries": table.const_entries,
                "implementation": profile,
                "size": table.size,
            })
        };
        let register =
            |register: &ir::Register| json!({"name": register.name, "bits": register.ty.width, "size": register.size});
        let counter = |counter: &ir::Counter| json!({"name": counter.name, "size": counter.size});
        let meter = |meter: &ir::Meter| json!({"name": meter.name, "size": meter.size});
        let filter =
            |filter: &ir::Filter| json!({"name": filter.name, "size": filter.size, "drops": filter.wred.is_some()});
        let profile = |(id, profile): (u32, &ir::Profile)| {
            // All tables of a profile have the same actions.
            let table = program.tables.iter().find(|table| table.profile == Some(ir::ProfileId(id)));
            json!({"name": profile.name, "actions": table.map_or_else(Vec::new, actions)})
        };
        let value_set = |set: &ir::ValueSet| {
            let bits: Vec<u32> = set.tys.iter().map(|ty| ty.width).collect();
            json!({"name": set.name, "bits": bits})
        };
        json!({
            "tables": program.tables.iter().map(table).collect::<Vec<_>>(),
            "registers": program.registers.iter().map(register).collect::<Vec<_>>(),
            "counters": program.counters.iter().map(counter).collect::<Vec<_>>(),
            "meters": program.meters.iter().map(meter).collect::<Vec<_>>(),
            "filters": program.filters.iter().map(filter).collect::<Vec<_>>(),
            "action_profiles": (0..).zip(&program.profiles).map(profile).collect::<Vec<_>>(),
            "value_sets": program.value_sets.iter().map(value_set).collect::<Vec<_>>(),
        })
        .to_string()
    }
}

impl Program {
    /// Message about an assertion that failed, with its place and condition.
    pub(crate) fn explain(&self, failed: FailedAssertion) -> String {
        let FailedAssertion { assume, span } = failed;
        let file = self.sources.file(span.file);
        let (line, column) = self.sources.line_column(span);
        let call = if assume { "assume" } else { "assert" };
        let condition = file.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        let path = file.path.display();
        format!("{path}:{line}:{column}: `{call}` failed, where BMv2 would end: `{condition}` is false")
    }
}
