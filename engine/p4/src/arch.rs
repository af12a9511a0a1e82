// SPDX-License-Identifier: MIT OR Apache-2.0
//! Architectures: the meaning of their packages and externs.
//!
//! Lowering itself handles parsers, controls, tables and values. For everything that an architecture declares, it calls
//! an [`Architecture`]. The architectures are implemented here, and [`lower`] selects one by the package of `main`.
//! Functions are first looked up in the core library.

mod args;
pub(crate) mod core;
mod data;
mod properties;
mod rules;
pub(crate) mod tna;
pub(crate) mod v1model;

use crate::diagnostics::{Diagnostics, Problem};
use crate::externs::{Handle, Kind, TableProperties};
use crate::ir;
use crate::lower::{self, Architecture, ExternObject, Lowered, Lowerer, NewExtern, PackageObject, Value};
use crate::source::Span;
use crate::typed::{self, Call, FunctionId, InstanceId};
use crate::types::Type;

/// Lowers the instance `main`, in the architecture of its package. `None` after an error.
pub(crate) fn lower(
    program: &typed::Program,
    main: InstanceId,
    name: &str,
    diagnostics: &mut Diagnostics,
) -> Option<ir::Program> {
    let decl = &program.instances[main.index()];
    let typed::Constructor::Package(package) = decl.construct.what else {
        diagnostics.error(decl.span, Problem::UnknownPackage { name: decl.name.clone() });
        return None;
    };
    let package = &program.packages[package.index()].name;
    let architecture: &'static Kind = match &**package {
        v1model::PACKAGE => &Kind::V1Model,
        tna::PACKAGE => &Kind::Tna,
        _ => {
            let help = "`main` must be a `V1Switch` (v1model) or a `Switch` (TNA)";
            diagnostics.error(decl.span, Problem::UnknownPackage { name: package.clone() }).help(help);
            return None;
        }
    };
    lower::lower(program, main, architecture, name, diagnostics)
}

impl Architecture for Kind {
    fn kind(&self) -> Kind {
        *self
    }

    fn package(&self, lowerer: &mut Lowerer<'_>, package: &PackageObject, span: Span) -> Lowered<ir::Arch> {
        match self {
            Kind::V1Model => v1model::lower(lowerer, package, span),
            Kind::Tna => tna::lower(lowerer, package, span),
        }
    }

    fn instantiate(&self, lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>) -> Lowered<Handle> {
        match self {
            Kind::V1Model => v1model::instantiate(lowerer, new).map(Handle::V1Model),
            Kind::Tna => tna::instantiate(lowerer, new).map(Handle::Tna),
        }
    }

    fn call_method(
        &self,
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

    fn call_function(
        &self,
        lowerer: &mut Lowerer<'_>,
        function: FunctionId,
        call: &Call,
        returns: &Type,
        span: Span,
    ) -> Lowered<Value> {
        let function = &lowerer.program.functions[function.index()];
        let args = lowerer.extern_args(&function.params, &call.args)?;
        match (core::call_function(lowerer, &function.name, &args, span)?, self) {
            (Some(value), _) => Ok(value),
            (None, Kind::V1Model) => v1model::call_function(lowerer, function, call, &args, returns, span),
            (None, Kind::Tna) => tna::call_function(lowerer, function, call, &args, returns, span),
        }
    }

    fn table_properties(
        &self,
        lowerer: &mut Lowerer<'_>,
        table: &typed::Table,
        name: &str,
    ) -> Lowered<TableProperties> {
        match self {
            Kind::V1Model => v1model::table_properties(lowerer, table, name),
            Kind::Tna => tna::table_properties(lowerer, table, name),
        }
    }
}
