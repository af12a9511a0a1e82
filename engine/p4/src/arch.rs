//! What an architecture gives to a program: the seam between the language and its externs.
//!
//! Lowering knows parsers, controls, tables and values. Everything that the declarations of an architecture name goes
//! through the functions here: [`lower_main`] finds the architecture by the package of `main`, the others ask the core
//! library first and then the architecture.

pub(crate) mod core;
pub(crate) mod v1model;

use crate::diagnostics::{Entry, Problem};
use crate::ir;
use crate::lower::{ExternObject, Failed, Lowered, Lowerer, NewExtern, Object, Value};
use crate::source::Span;
use crate::typed::{self, Call, FunctionId, InstanceId};
use crate::types::Type;

/// What became of an extern instance.
#[derive(Clone, Debug)]
pub(crate) enum Handle {
    Core(core::Handle),
    V1Model(v1model::Handle),
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
    if &*name != v1model::PACKAGE {
        lowerer.diagnostics.error(span, Problem::UnknownPackage { name }).help("`main` must be a `V1Switch`");
        return Err(Failed);
    }
    lowerer.make_globals()?;
    match lowerer.instance(main) {
        Some(Object::Package(package)) => v1model::lower(lowerer, &package, span),
        _ => lowerer.internal(span, "`main` is no package"),
    }
}

/// Makes an extern instance.
pub(crate) fn instantiate(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>) -> Lowered<Handle> {
    v1model::instantiate(lowerer, new).map(Handle::V1Model)
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
    match core::call_function(lowerer, &function.name, &args, span)? {
        Some(value) => Ok(value),
        None => v1model::call_function(lowerer, function, call, &args, returns, span),
    }
}

/// Warns of a construct that runs here and that BMv2's compiler refuses.
pub(crate) fn beyond_bmv2<'a>(lowerer: &'a mut Lowerer<'_>, what: &'static str, span: Span) -> Entry<'a> {
    lowerer.diagnostics.warning(span, Problem::BeyondBmv2 { what })
}

/// Warns of a loop that runs here and that BMv2's compiler leaves out.
pub(crate) fn dropped_loop(lowerer: &mut Lowerer<'_>, span: Span) {
    lowerer.diagnostics.warning(span, Problem::DroppedLoop {}).help("put it into an action, where it runs on both");
}

/// Looks at the properties of a table that the language leaves to the architecture.
pub(crate) fn table_properties(
    lowerer: &mut Lowerer<'_>,
    table: &typed::Table,
    name: &str,
) -> Lowered<TableProperties> {
    v1model::table_properties(lowerer, table, name)
}
