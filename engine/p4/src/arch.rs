// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an architecture gives to a program: the seam between the language and its externs.
//!
//! Lowering knows parsers, controls, tables and values. Everything that the declarations of an architecture name goes
//! through the functions here: [`lower_main`] finds the architecture by the package of `main`, the others ask the core
//! library first and then the architecture.

mod args;
pub(crate) mod core;
mod data;
mod properties;
mod rules;
pub(crate) mod tna;
pub(crate) mod v1model;

use crate::diagnostics::Problem;
use crate::ir;
use crate::lower::{ExternObject, Failed, Lowered, Lowerer, NewExtern, Object, Value};
use crate::source::Span;
use crate::typed::{self, Call, FunctionId, InstanceId};
use crate::types::Type;

/// The architectures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    V1Model,
    Tna,
}

/// The part that a block plays; some externs belong to one part only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Parser,
    VerifyChecksum,
    Ingress,
    Egress,
    ComputeChecksum,
    Deparser,
}

/// What became of an extern instance.
#[derive(Clone, Debug)]
pub(crate) enum Handle {
    Core(core::Handle),
    V1Model(v1model::Handle),
    Tna(tna::Handle),
}

/// Properties of a table that are the architecture's.
#[derive(Default, Debug)]
pub(crate) struct TableProperties {
    pub(crate) size: Option<u64>,
    pub(crate) direct_counter: Option<ir::CounterId>,
    pub(crate) direct_meter: Option<ir::MeterId>,
    pub(crate) profile: Option<ir::ProfileId>,
}

/// Makes all instances and lowers the blocks that `main` names.
pub(crate) fn lower_main(lowerer: &mut Lowerer<'_>, main: InstanceId) -> Lowered<ir::Arch> {
    let decl = &lowerer.program.instances[main.index()];
    let span = decl.span;
    let name = match decl.construct.what {
        typed::Constructor::Package(id) => lowerer.program.packages[id.index()].name.clone(),
        _ => return lowerer.fail(span, Problem::UnknownPackage { name: decl.name.clone() }),
    };
    lowerer.arch = match &*name {
        v1model::PACKAGE => Kind::V1Model,
        tna::PACKAGE => Kind::Tna,
        _ => {
            let help = "`main` must be a `V1Switch` (v1model) or a `Switch` (TNA)";
            lowerer.diagnostics.error(span, Problem::UnknownPackage { name }).help(help);
            return Err(Failed);
        }
    };
    lowerer.make_globals()?;
    match (lowerer.instance(main), lowerer.arch) {
        (Some(Object::Package(package)), Kind::V1Model) => v1model::lower(lowerer, &package, span),
        (Some(Object::Package(package)), Kind::Tna) => tna::lower(lowerer, &package, span),
        _ => lowerer.internal(span, "`main` is no package"),
    }
}

/// Makes an extern instance.
pub(crate) fn instantiate(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>) -> Lowered<Handle> {
    match lowerer.arch {
        Kind::V1Model => v1model::instantiate(lowerer, new).map(Handle::V1Model),
        Kind::Tna => tna::instantiate(lowerer, new).map(Handle::Tna),
    }
}

/// Calls a method of an extern instance.
pub(crate) fn call_method(
    lowerer: &mut Lowerer<'_>,
    object: &ExternObject,
    method: FunctionId,
    call: &Call,
    returns: &Type,
    span: Span,
) -> Lowered<Value> {
    let method = &lowerer.program.functions[method.index()];
    match &object.handle {
        Handle::Core(handle) => core::call_method(lowerer, *handle, method, call, returns, span),
        Handle::V1Model(handle) => v1model::call_method(lowerer, handle, object, method, call, returns, span),
        Handle::Tna(handle) => tna::call_method(lowerer, handle, object, method, call, returns, span),
    }
}

/// Calls an extern function.
pub(crate) fn call_function(
    lowerer: &mut Lowerer<'_>,
    function: FunctionId,
    call: &Call,
    returns: &Type,
    span: Span,
) -> Lowered<Value> {
    let function = &lowerer.program.functions[function.index()];
    let args = lowerer.extern_args(&function.params, &call.args)?;
    match (core::call_function(lowerer, &function.name, &args, span)?, lowerer.arch) {
        (Some(value), _) => Ok(value),
        (None, Kind::V1Model) => v1model::call_function(lowerer, function, call, &args, returns, span),
        (None, Kind::Tna) => tna::call_function(lowerer, function, call, &args, returns, span),
    }
}

/// Warns of a construct that runs here and that BMv2's compiler refuses.
pub(crate) fn beyond_bmv2(lowerer: &mut Lowerer<'_>, what: &'static str, help: Option<&str>, span: Span) {
    if lowerer.arch == Kind::V1Model {
        let entry = lowerer.diagnostics.warning(span, Problem::BeyondBmv2 { what });
        match help {
            Some(help) => entry.help(help).done(),
            None => entry.done(),
        }
    }
}

/// Warns of a loop that runs here, and of which BMv2's compiler keeps the body alone.
pub(crate) fn loop_runs_once(lowerer: &mut Lowerer<'_>, span: Span) {
    if lowerer.arch == Kind::V1Model {
        lowerer
            .diagnostics
            .warning(span, Problem::LoopRunsOnce {})
            .help("put it into an action, where it runs on both");
    }
}

/// Looks at the properties of a table that the language leaves to the architecture.
pub(crate) fn table_properties(
    lowerer: &mut Lowerer<'_>,
    table: &typed::Table,
    name: &str,
) -> Lowered<TableProperties> {
    match lowerer.arch {
        Kind::V1Model => v1model::table_properties(lowerer, table, name),
        Kind::Tna => tna::table_properties(lowerer, table, name),
    }
}
